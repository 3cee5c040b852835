// `portcullis join` and `portcullis unjoin`: the commands that create and delete ClusterJoin objects. They send
// requests to the hub's API server directly, with the rights of the person who runs them.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { parseWait } from '../apply/apply-flags.ts';
import { findConnection, type KubeconfigFlags } from '../connection/connection.ts';
import { serverRoot } from '../connection/gateway-url.ts';
import { usageFailure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { bootstrapKubeconfig } from './bootstrap-kubeconfig.ts';
import { hubObjects } from './hub-objects.ts';
import { awaitReady, declareJoin, leave } from './join-run.ts';

interface JoinFlags extends KubeconfigFlags {
  readonly bootstrapKubeconfig: string;
  readonly bootstrapContext?: string;
  readonly namespace: string;
  readonly memberNamespace?: string;
  readonly tokenTtl?: string;
  readonly bundle?: string;
  readonly index?: boolean;
  readonly executeWorks?: boolean;
  readonly managedCluster?: boolean;
  readonly adopt?: boolean;
  readonly forceAfter?: string;
  readonly wait: boolean;
  readonly timeout: number;
}

interface UnjoinFlags extends KubeconfigFlags {
  readonly forceAfter?: string;
  readonly timeout: number;
}

const pollMs = 500;

const joinExamples = `
Examples:
  # the hub is the current context; edge-1.kubeconfig is an administrator's for the cluster that joins
  $ portcullis join edge-1 --bootstrap-kubeconfig edge-1.kubeconfig --namespace joining

  # with OCM's klusterlet from a ConfigMap, and a ManagedCluster
  $ portcullis join edge-1 --bootstrap-kubeconfig edge-1.kubeconfig --bundle joining/klusterlet --managed-cluster`;

const unjoinExamples = `
Examples:
  $ portcullis unjoin edge-1

  # a cluster that does not exist any more
  $ portcullis unjoin edge-1 --force-after 10s`;

/** Adds the commands `join` and `unjoin` to the program. */
export function addJoinCommands(program: Command, terminal: Terminal): void {
  addHubFlags(program.command('join').description('let a cluster join by a ClusterJoin on the hub'))
    .argument('<name>', 'name of the cluster')
    .requiredOption('--bootstrap-kubeconfig <file>', "an administrator's kubeconfig of the cluster, used once")
    .option('--bootstrap-context <name>', 'context of that kubeconfig (default: the current one)')
    .option('--namespace <ns>', 'namespace of the hub for the bootstrap Secret', 'portcullis-system')
    .option(
      '--member-namespace <ns>',
      "namespace in the cluster for the gateway's account (default: portcullis-system)",
    )
    .addOption(new Option('--token-ttl <duration>', 'wanted life of a token (default: 24h)').argParser(duration))
    .option('--bundle <ns/name>', 'ConfigMap of the hub with manifests to apply in the cluster')
    .option('--index', 'let the index read the cluster')
    .option('--execute-works', 'let the executor of ManifestWorks keep its records in the cluster')
    .option('--managed-cluster', 'make a ManagedCluster too')
    .option('--adopt', 'take over what another join made in the cluster')
    .addOption(forceAfter())
    .option('--no-wait', 'do not wait until the cluster is ready')
    .addOption(timeout())
    .addHelpText('after', joinExamples)
    .action((name: string, flags: JoinFlags) => join(name, flags, terminal));
  addHubFlags(program.command('unjoin').description('let a cluster leave, and remove what its join made'))
    .argument('<name>', 'name of the cluster')
    .addOption(forceAfter())
    .addOption(timeout())
    .addHelpText('after', unjoinExamples)
    .action((name: string, flags: UnjoinFlags) => {
      const hub = hubObjects(findConnection(flags, terminal, serverRoot));
      return leave(hub, checkedName(name), flags.forceAfter, terminal, { timeoutMs: flags.timeout, pollMs });
    });
}

async function join(name: string, flags: JoinFlags, terminal: Terminal): Promise<void> {
  const request = {
    name: checkedName(name),
    namespace: flags.namespace,
    kubeconfig: bootstrapKubeconfig(flags.bootstrapKubeconfig, flags.bootstrapContext, terminal),
    spec: specOf(flags),
  };
  const hub = hubObjects(findConnection(flags, terminal, serverRoot));
  await declareJoin(hub, request);
  if (flags.wait) await awaitReady(hub, name, terminal, { timeoutMs: flags.timeout, pollMs });
  else terminal.print(`ClusterJoin ${name} created\n`);
}

function specOf(flags: JoinFlags): Readonly<Record<string, unknown>> {
  const { memberNamespace, tokenTtl: tokenTTL, bundle, forceAfter: after } = flags;
  const [namespace, name, ...more] = bundle?.split('/') ?? [];
  if (bundle !== undefined && (namespace === '' || name === undefined || name === '' || more.length > 0))
    throw usageFailure('--bundle must be NAMESPACE/NAME of a ConfigMap', 'For example --bundle joining/klusterlet');
  const fields = {
    memberNamespace,
    tokenTTL,
    bundle: bundle === undefined ? undefined : { namespace, name },
    index: flags.index,
    executeWorks: flags.executeWorks,
    managedCluster: flags.managedCluster,
    adopt: flags.adopt,
    deregisterPolicy: after === undefined ? undefined : `ForceAfter:${after}`,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function checkedName(name: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw usageFailure(
    `"${name}" cannot be the name of a cluster that joins`,
    'Use lower case letters, digits and "-", at most 63 characters.',
  );
}

function addHubFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the hub (default: $KUBECONFIG, then ~/.kube/config)')
    .option('--context <name>', 'context of that kubeconfig (default: the current one)');
}

function forceAfter(): Option {
  return new Option('--force-after <duration>', 'give the cluster up when it cannot be reached for so long').argParser(
    duration,
  );
}

function timeout(): Option {
  return new Option('--timeout <duration>', 'how long to wait')
    .default(300_000, '5m')
    .argParser((text) => parseWait(duration(text)));
}

/** Returns a duration unchanged if a ClusterJoin accepts it: with hours, minutes and seconds only. */
function duration(text: string): string {
  if (/^([0-9]+(h|m|s))+$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a duration such as 90s, 30m or 24h.');
}
