package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	// how long output may follow the end of a process (grandchildren that hold its pipes)
	drainDelay = 2 * time.Second
	// how long an exec with a terminal waits for the client's first size, so that programs see it from the start
	firstSizeDelay    = 300 * time.Millisecond
	endOfTransmission = 0x04
)

// command makes an unstarted process in a container's scratch directory; /tmp is the container's own where namespaces allow it.
func (c *container) command(argv []string, tty bool) (*exec.Cmd, error) {
	path, err := c.lookUp(argv[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir = filepath.Join(c.dir, "root")
	if c.runner.kubelet.isolate {
		isolateCommand(cmd, c.dir)
	}
	cmd.Env = append([]string(nil), c.env...)
	if tty {
		cmd.Env = append(cmd.Env, "TERM=xterm")
	}
	cmd.WaitDelay = drainDelay
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	tetherCommand(cmd)
	return cmd, nil
}

// makeScratch makes a container's own folders: `root` (its working directory) and `tmp`.
func makeScratch(dir string) error {
	for _, name := range []string{"root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// lookUp fails as a container runtime does: before anything runs, naming the program.
func (c *container) lookUp(program string) (string, error) {
	own := ""
	switch isolated := c.runner.kubelet.isolate; {
	case isolated && strings.HasPrefix(program, "/tmp/"):
		own = filepath.Join(c.dir, "tmp", program[len("/tmp/"):])
	case isolated && strings.HasPrefix(program, "/mnt/"):
		own = filepath.Join(c.dir, "root", program[len("/mnt/"):])
	case strings.Contains(program, "/") && !filepath.IsAbs(program):
		own = filepath.Join(c.dir, "root", program)
	}
	if _, err := os.Stat(own); own != "" && err == nil {
		return program, nil
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("exec: %q: executable file not found in $PATH", program)
	}
	return path, nil
}

// exec runs a command beside the container's process; a non-zero end becomes an exit code on the wire.
func (c *container) exec(
	ctx context.Context, argv []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize,
) error {
	cmd, err := c.command(argv, tty)
	if err != nil {
		return err
	}
	if tty {
		return c.execTerminal(cmd, in, out, resize)
	}
	if out != nil {
		cmd.Stdout = out
	}
	if errOut != nil {
		cmd.Stderr = errOut
	}
	var stdin io.WriteCloser
	if in != nil {
		if stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer c.track(cmd.Process.Pid)()
	if stdin != nil {
		go func() {
			_, _ = io.Copy(stdin, in)
			_ = stdin.Close()
		}()
	}
	return exitError(cmd.Wait())
}

func (c *container) execTerminal(
	cmd *exec.Cmd, in io.Reader, out io.WriteCloser, resize <-chan remotecommand.TerminalSize,
) error {
	var first *pty.Winsize
	select {
	case size, ok := <-resize:
		if ok {
			first = &pty.Winsize{Cols: size.Width, Rows: size.Height}
		}
	case <-time.After(firstSizeDelay):
	}
	terminal, err := startTerminal(cmd, first)
	if err != nil {
		return err
	}
	defer terminal.Close()
	defer c.track(cmd.Process.Pid)()
	go followSize(terminal, resize)
	go feedTerminal(terminal, in)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		if out == nil {
			_, _ = io.Copy(io.Discard, terminal)
		} else {
			_, _ = io.Copy(out, terminal) // ends with EIO when the last process of the session is gone
		}
	}()
	err = cmd.Wait()
	select {
	case <-drained:
	case <-time.After(drainDelay):
	}
	return exitError(err)
}

func startTerminal(cmd *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	cmd.SysProcAttr.Setctty = true
	return pty.StartWithAttrs(cmd, size, cmd.SysProcAttr)
}

func followSize(terminal *os.File, resize <-chan remotecommand.TerminalSize) {
	for size := range resize {
		_ = setSize(terminal, size)
	}
}

// feedTerminal copies the client's keys; its end of input becomes ^D, else a shell fed from a pipe would never end.
func feedTerminal(terminal *os.File, in io.Reader) {
	if in == nil {
		return
	}
	_, _ = io.Copy(terminal, in)
	_, _ = terminal.Write([]byte{endOfTransmission})
}

// exitError turns what os/exec reports into what the streaming server understands.
func exitError(err error) error {
	var ended *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &ended):
		code := exitCode(ended.ProcessState)
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	default:
		return err
	}
}

// exitCode is the shell's way of telling: 128 + signal for a killed process.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// signalGroup reaches a process and all it started, since each is the leader of a session.
func signalGroup(pid int, signal syscall.Signal) {
	if pid > 0 {
		_ = syscall.Kill(-pid, signal)
	}
}

func setSize(terminal *os.File, size remotecommand.TerminalSize) error {
	return pty.Setsize(terminal, &pty.Winsize{Cols: size.Width, Rows: size.Height})
}
