package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// what a container does whose image is unknown and that names no command
const defaultLoop = `i=0; while true; do i=$((i+1)); echo "line $i"; sleep 1; done`

// how long a container that serves one attached client (kubectl run -i) waits for that client
const attachDelay = 5 * time.Second

// images that people expect to start a shell
var shellImages = map[string]bool{
	"alpine": true, "bash": true, "busybox": true, "debian": true, "fedora": true, "ubuntu": true,
}

// container is one container of a pod: its process, its output, and what became of it.
type container struct {
	runner *podRunner
	name   string
	image  string
	argv   []string
	env    []string
	stdin  bool
	once   bool
	tty    bool
	dir    string

	mu        sync.Mutex
	restarts  int32
	id        string
	pid       int
	running   bool
	started   metav1.Time
	last      *v1.ContainerStateTerminated
	startFail string
	notBefore time.Time
	input     io.WriteCloser
	terminal  *os.File
	outlet    *outlet
	done      chan struct{}
	attached  chan struct{}
	execs     map[int]struct{}
}

func newContainer(r *podRunner, pod *v1.Pod, spec *v1.EphemeralContainerCommon) (*container, error) {
	c := &container{
		runner: r,
		name:   spec.Name,
		image:  spec.Image,
		stdin:  spec.Stdin,
		once:   spec.StdinOnce,
		tty:    spec.TTY,
		dir:    filepath.Join(r.dir, spec.Name),
		execs:  map[int]struct{}{},
	}
	if err := makeScratch(c.dir); err != nil {
		return nil, err
	}
	home := filepath.Join(c.dir, "root")
	if r.kubelet.isolate {
		home = "/mnt"
	}
	c.env = environment(pod, spec, home, r.ip)
	c.argv = append(append([]string{}, spec.Command...), spec.Args...)
	for i := range c.argv {
		c.argv[i] = expand(c.argv[i], c.env)
	}
	if len(c.argv) == 0 {
		c.argv = []string{"/bin/sh", "-c", defaultLoop}
		if name, _, _ := strings.Cut(path.Base(spec.Image), ":"); spec.Stdin && shellImages[name] || spec.Stdin && spec.TTY {
			c.argv = []string{"/bin/sh"}
		}
	}
	return c, nil
}

func environment(pod *v1.Pod, spec *v1.EphemeralContainerCommon, home, ip string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"HOSTNAME=" + pod.Name,
		"LANG=C.UTF-8",
	}
	for _, each := range spec.Env {
		value := expand(each.Value, env)
		if from := each.ValueFrom; from != nil && from.FieldRef != nil {
			value = map[string]string{
				"metadata.name":           pod.Name,
				"metadata.namespace":      pod.Namespace,
				"metadata.uid":            string(pod.UID),
				"spec.nodeName":           pod.Spec.NodeName,
				"spec.serviceAccountName": pod.Spec.ServiceAccountName,
				"status.podIP":            ip,
			}[from.FieldRef.FieldPath]
		}
		env = append(env, each.Name+"="+value)
	}
	return env
}

// expand does `$(NAME)` as the API promises.
func expand(text string, env []string) string {
	for _, each := range env {
		name, value, _ := strings.Cut(each, "=")
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return text
}

// logPath is the log of one life of the container; restart 0 is the first.
func (c *container) logPath(restart int32) string {
	return filepath.Join(c.dir, fmt.Sprintf("%d.log", restart))
}

// start begins one life. It never blocks: a container for one attached client waits for it in the background.
func (c *container) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	c.id, c.running, c.startFail = "standin://"+hex.EncodeToString(id), true, ""
	c.started, c.done, c.attached = metav1.Now(), make(chan struct{}), make(chan struct{})
	file, err := openLog(c.logPath(c.restarts))
	if err != nil {
		log.Print(err)
		c.fail(err)
		return
	}
	c.outlet = newOutlet(file)
	if c.stdin && c.once {
		go func(attached, done chan struct{}) {
			select {
			case <-attached:
			case <-time.After(attachDelay):
			case <-done:
				return
			}
			c.launch()
		}(c.attached, c.done)
		return
	}
	go c.launch()
}

// fail ends a life that never had a process. The caller holds the lock.
func (c *container) fail(err error) {
	c.running, c.startFail = false, err.Error()
	c.last = &v1.ContainerStateTerminated{
		ContainerID: c.id, ExitCode: 128, Reason: "StartError", Message: err.Error(),
		StartedAt: c.started, FinishedAt: metav1.Now(),
	}
	close(c.done)
	go c.runner.poke()
}

func (c *container) launch() {
	c.mu.Lock()
	if !c.running {
		c.mu.Unlock()
		return
	}
	cmd, err := c.command(c.argv, c.tty)
	if err == nil {
		err = c.startProcess(cmd)
	}
	if err != nil {
		c.outlet.log.close()
		c.fail(err)
		c.mu.Unlock()
		return
	}
	c.pid = cmd.Process.Pid
	terminal := c.terminal
	c.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		if terminal != nil {
			_, _ = io.Copy(c.outlet.stream("stdout"), terminal)
		}
	}()
	err = cmd.Wait()
	select {
	case <-drained:
	case <-time.After(drainDelay):
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay) {
		log.Printf("%s: %v", c.name, err)
	}
	c.finish(exitCode(cmd.ProcessState))
}

// startProcess starts it on pipes or on a terminal. The caller holds the lock.
func (c *container) startProcess(cmd *exec.Cmd) (err error) {
	if c.tty {
		if c.terminal, err = startTerminal(cmd, nil); err == nil && c.stdin {
			c.input = c.terminal
		}
		return err
	}
	cmd.Stdout, cmd.Stderr = c.outlet.stream("stdout"), c.outlet.stream("stderr")
	if c.stdin {
		if c.input, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	return cmd.Start()
}

func (c *container) finish(code int) {
	c.mu.Lock()
	c.running, c.pid = false, 0
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	c.last = &v1.ContainerStateTerminated{
		ContainerID: c.id, ExitCode: int32(code), Reason: reason, StartedAt: c.started, FinishedAt: metav1.Now(),
	}
	c.outlet.log.close()
	if c.terminal != nil {
		_ = c.terminal.Close()
	}
	c.input, c.terminal = nil, nil
	close(c.done)
	c.mu.Unlock()
	c.runner.poke()
}

// signal reaches the container's process; `all` also what was started in it by exec.
func (c *container) signal(signal syscall.Signal, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	signalGroup(c.pid, signal)
	if !all {
		return
	}
	for pid := range c.execs {
		signalGroup(pid, signal)
	}
	if c.running && c.pid == 0 { // still waiting for its client
		c.running = false
		c.last = &v1.ContainerStateTerminated{
			ContainerID: c.id, ExitCode: 137, Reason: "Error", StartedAt: c.started, FinishedAt: metav1.Now(),
		}
		close(c.done)
	}
}

// track remembers a process started by exec until the returned function is called.
func (c *container) track(pid int) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.execs[pid] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.execs, pid)
	}
}

// attach joins a client to the running process until the process ends or the client goes.
func (c *container) attach(
	ctx context.Context, in io.Reader, out, errOut io.WriteCloser, resize <-chan remotecommand.TerminalSize,
) error {
	c.mu.Lock()
	if !c.running {
		c.mu.Unlock()
		return fmt.Errorf("container %s is not running", c.name)
	}
	own := &tap{broken: make(chan struct{})}
	if out != nil {
		own.stdout = out
	}
	if errOut != nil {
		own.stderr = errOut
	}
	outlet, done, attached := c.outlet, c.done, c.attached
	outlet.add(own)
	select {
	case <-attached:
	default:
		close(attached)
	}
	c.mu.Unlock()
	defer outlet.remove(own)

	go func() {
		for size := range resize {
			if terminal := c.currentTerminal(done); terminal != nil {
				_ = setSize(terminal, size)
			}
		}
	}()
	gone := make(chan struct{})
	if in != nil {
		go func() {
			defer close(gone)
			c.feed(in, done)
		}()
	}
	select {
	case <-done:
	case <-ctx.Done():
	case <-own.broken:
	case <-gone:
		// The client's input ended; it may still read. With a terminal, or nothing to read, that is the end.
		if !c.tty && (out != nil || errOut != nil) {
			select {
			case <-done:
			case <-ctx.Done():
			case <-own.broken:
			}
		}
	}
	return nil
}

// feed copies a client's input to the process; stdinOnce closes it behind the first client.
func (c *container) feed(in io.Reader, done chan struct{}) {
	input := c.currentInput(done)
	if input == nil {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	_, _ = io.Copy(input, in)
	if c.once && !c.tty {
		_ = input.Close()
	}
}

// currentInput waits until the process of this life has its input; nil when it takes none.
func (c *container) currentInput(done chan struct{}) io.WriteCloser {
	for c.stdin {
		c.mu.Lock()
		input, pid := c.input, c.pid
		c.mu.Unlock()
		if pid != 0 {
			return input
		}
		select {
		case <-done:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func (c *container) currentTerminal(done chan struct{}) *os.File {
	if !c.tty {
		return nil
	}
	for {
		c.mu.Lock()
		terminal, pid := c.terminal, c.pid
		c.mu.Unlock()
		if pid != 0 {
			return terminal
		}
		select {
		case <-done:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}
