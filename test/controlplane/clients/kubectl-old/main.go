// Command kubectl-old is kubectl three minors older than the members: people upgrade their clients late. Its version is set at link time.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() { os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand())) }
