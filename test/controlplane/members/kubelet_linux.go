package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// isolateCommand gives a command a mount namespace in which /tmp and the working directory /mnt are folders of the container.
// Without root a user namespace is added, in which the caller is root for the mounts. A shell does them: re-running this large
// binary for it would cost 90 ms a command. /mnt comes first, because the folders themselves may lie under the machine's /tmp.
func isolateCommand(cmd *exec.Cmd, dir string) {
	script := `mount --bind "$0/root" /mnt && mount --bind "$0/tmp" /tmp && cd /mnt && exec "$@"`
	arguments := append([]string{"/bin/sh", "-c", script, dir, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = "/bin/sh", arguments
	attributes := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attributes = &syscall.SysProcAttr{
			Cloneflags:   syscall.CLONE_NEWUSER,
			UidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			Unshareflags: syscall.CLONE_NEWNS,
		}
	}
	cmd.SysProcAttr = attributes
}

// canIsolate tries it once.
func canIsolate(root string) bool {
	dir := filepath.Join(root, "probe")
	if makeScratch(dir) != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "tmp", "mine"), nil, 0o600); err != nil {
		return false
	}
	cmd := exec.Command("/bin/sh", "-c", "test -e /tmp/mine && test $(pwd) = /mnt")
	isolateCommand(cmd, dir)
	return cmd.Run() == nil
}

// tetherCommand lets a container die with the stand-in.
func tetherCommand(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
