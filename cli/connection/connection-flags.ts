// The flags by which a command finds the gateway.
import type { Command } from 'commander';

/** Adds the flags of ConnectionFlags and KubeconfigFlags to a command. */
export function addConnectionFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig that knows the gateway (default: $KUBECONFIG, then ~/.kube/config)')
    .option('--context <name>', 'context of that kubeconfig (default: the current one)')
    .option('--server <url>', 'address of the gateway; the kubeconfig is then not read')
    .option('--token <token>', 'bearer token')
    .option('--certificate-authority <file>', "PEM certificate of the CA that signed the gateway's certificate")
    .option('--client-certificate <file>', 'PEM client certificate, in place of a token')
    .option('--client-key <file>', 'PEM key of the client certificate');
}
