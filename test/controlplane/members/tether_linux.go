package main

import (
	"os"
	"runtime"
	"syscall"
)

// init makes the kernel end this process when the one that started it is gone, however that ended: a killed test run must not
// leave API servers behind. The attribute belongs to a thread, hence the lock: the main goroutine keeps the main thread.
func init() {
	if os.Getenv("CONTROLPLANE_TETHERED") == "" {
		return
	}
	runtime.LockOSThread()
	const setParentDeathSignal = 1
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setParentDeathSignal, uintptr(syscall.SIGKILL), 0)
	if os.Getppid() == 1 {
		os.Exit(1)
	}
}

// runTether replaces itself by a program of someone else, tethered: the attribute survives execve.
func runTether(args []string) int {
	if len(args) == 0 {
		return 2
	}
	if err := syscall.Exec(args[0], args, os.Environ()); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
	}
	return 1
}
