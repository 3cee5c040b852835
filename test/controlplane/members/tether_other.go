//go:build !linux

package main

import (
	"os"
	"syscall"
)

// runTether only runs the program: other systems have no parent-death signal, so a killed run leaves its children behind there.
func runTether(args []string) int {
	if len(args) == 0 {
		return 2
	}
	if err := syscall.Exec(args[0], args, os.Environ()); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
	}
	return 1
}
