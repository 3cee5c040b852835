// Command ocm is one binary with the components of Open Cluster Management that tests run beside the gateway, chosen by
// the name it is called with: the agent that executes ManifestWorks, the controllers of ManifestWorks and those of
// registration on the hub, and the scheduler of Placements. The commands are those of OCM's own programs with the same flags.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/cli"
	"k8s.io/utils/clock"
	ocmfeature "open-cluster-management.io/api/feature"

	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	placement "open-cluster-management.io/ocm/pkg/placement/controllers"
	registration "open-cluster-management.io/ocm/pkg/registration/hub"
	"open-cluster-management.io/ocm/pkg/version"
	"open-cluster-management.io/ocm/pkg/work/hub"
	"open-cluster-management.io/ocm/pkg/work/spoke"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"ocm-work-agent":       newWorkAgent,
		"ocm-work-hub":         newWorkHub,
		"ocm-registration-hub": newRegistrationHub,
		"ocm-placement":        newPlacement,
	}
	command, known := commands[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintln(os.Stderr, "ocm: call me as ocm-work-agent, ocm-work-hub, ocm-registration-hub or ocm-placement")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}

func newWorkAgent() *cobra.Command {
	common := options.NewAgentOptions()
	agent := spoke.NewWorkloadAgentOptions()
	config := spoke.NewWorkAgentConfig(common, agent)
	command := common.CommonOpts.
		NewControllerCommandConfig("work-agent", version.Get(), config.RunWorkloadAgent, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	common.AddFlags(command.Flags())
	agent.AddFlags(command.Flags())
	utilruntime.Must(features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeWorkFeatureGates))
	features.SpokeMutableFeatureGate.AddFlag(command.Flags())
	return command
}

func newWorkHub() *cobra.Command {
	common := options.NewOptions()
	manager := hub.NewWorkHubManagerOptions()
	config := hub.NewWorkHubManagerConfig(manager)
	command := common.
		NewControllerCommandConfig("work-manager", version.Get(), config.RunWorkHubManager, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	common.AddFlags(command.Flags())
	manager.AddFlags(command.Flags())
	utilruntime.Must(features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates))
	features.HubMutableFeatureGate.AddFlag(command.Flags())
	return command
}

func newRegistrationHub() *cobra.Command {
	common := options.NewOptions()
	manager := registration.NewHubManagerOptions()
	command := common.
		NewControllerCommandConfig("registration-controller", version.Get(), manager.RunControllerManager, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	common.AddFlags(command.Flags())
	manager.AddFlags(command.Flags())
	utilruntime.Must(features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubRegistrationFeatureGates))
	features.HubMutableFeatureGate.AddFlag(command.Flags())
	return command
}

func newPlacement() *cobra.Command {
	common := options.NewOptions()
	command := common.
		NewControllerCommandConfig("placement", version.Get(), placement.RunControllerManager, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	common.AddFlags(command.Flags())
	return command
}
