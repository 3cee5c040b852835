// Command controlplane is one binary with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and the kubelet
// stand-in in it, chosen by the name it is called with (or its first argument). One link step instead of four: the packages they share are the costly part.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	name := filepath.Base(os.Args[0])
	commands := map[string]func() int{
		"etcd":                    func() int { return runEtcd(os.Args[1:]) },
		"kubelet":                 func() int { return runKubelet(os.Args[1:]) },
		"kube-apiserver":          func() int { return run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return run(scheduler.NewSchedulerCommand()) },
		"tether":                  func() int { return runTether(os.Args[1:]) },
		"kubectl":                 func() int { return run(kubectl.NewDefaultKubectlCommand()) },
	}
	command, known := commands[name]
	if !known && len(os.Args) > 1 {
		name = os.Args[1]
		if command, known = commands[name]; known {
			os.Args = os.Args[1:]
		}
	}
	if !known {
		fmt.Fprintf(os.Stderr, "controlplane: call me as etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kubelet or tether\n")
		os.Exit(2)
	}
	os.Exit(command())
}

func run(command *cobra.Command) int { return cli.Run(command) }
