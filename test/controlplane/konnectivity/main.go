// Command konnectivity is one binary with proxy-server and proxy-agent of apiserver-network-proxy in it, chosen by the name it is called
// with: the mains of the upstream programs are packages of their own, so what they do is repeated here and nothing else is.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	agent "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app"
	agentoptions "sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	server "sigs.k8s.io/apiserver-network-proxy/cmd/server/app"
	serveroptions "sigs.k8s.io/apiserver-network-proxy/cmd/server/app/options"
	"sigs.k8s.io/apiserver-network-proxy/pkg/util"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "proxy-server":
		options := serveroptions.NewProxyRunOptions()
		run(server.NewProxyCommand(&server.Proxy{}, options), options.Flags())
	case "proxy-agent":
		options := agentoptions.NewGrpcProxyAgentOptions()
		run(agent.NewAgentCommand(&agent.Agent{}, options), options.Flags())
	default:
		fmt.Fprintln(os.Stderr, "konnectivity: call me as proxy-server or proxy-agent")
		os.Exit(2)
	}
}

func run(command *cobra.Command, own *pflag.FlagSet) {
	flags := command.Flags()
	flags.AddFlagSet(own)
	logging := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	klog.InitFlags(logging)
	logging.VisitAll(func(one *flag.Flag) {
		one.Name = util.Normalize(one.Name)
		flags.AddGoFlag(one)
	})
	if err := command.Execute(); err != nil {
		klog.Errorf("error: %v", err)
		klog.Flush()
		os.Exit(1)
	}
}
