//go:build !linux

package main

import "os/exec"

// No mount namespaces here: containers share the machine's /tmp.
func isolateCommand(_ *exec.Cmd, _ string) {}

func canIsolate(_ string) bool { return false }

func tetherCommand(_ *exec.Cmd) {}
