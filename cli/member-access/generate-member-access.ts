// `portcullis generate member-access`: prints the RBAC objects that a member cluster needs, for an administrator to
// read and apply. The objects grant the gateway only the rights that the flags ask for, and the output says how to
// check that.
import { Option } from 'commander';
import type { Command } from 'commander';
import { applyAccess } from './apply-access.ts';
import { findConnection } from '../connection/connection.ts';
import type { KubeconfigFlags } from '../connection/connection.ts';
import { Failure, usageFailure } from '../terminal/failure.ts';
import { serverRoot } from '../connection/gateway-url.ts';
import { splitIndexResources } from '../../lib/rights/index-rules.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { kubernetesExtraKeys } from '../../lib/rights/impersonation-rules.ts';
import { indexAccessObjects, memberAccessObjects } from './member-access.ts';
import type { AccessObject, MemberAccess } from './member-access.ts';
import { discoverResources, readDiscovery } from './member-discovery.ts';
import type { MemberResource } from './member-discovery.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { writeYaml } from '../../lib/yaml/go-yaml.ts';

/** Flags of `portcullis generate member-access`, as commander parses them. */
export interface MemberAccessFlags extends KubeconfigFlags {
  readonly gatewayServiceAccount?: string;
  readonly constrained?: boolean;
  readonly readOnly?: boolean;
  readonly discovery?: string;
  readonly impersonationMode: 'full' | 'username';
  readonly impersonateExtra?: string;
  readonly index?: boolean;
  readonly indexResources?: string;
  readonly apply?: boolean;
}

const examples = `
Examples:
  # classic impersonation: as every user, for whatever that user's own RBAC allows
  $ portcullis generate member-access --gateway-service-account portcullis/gateway | kubectl --context m1 apply -f -

  # Kubernetes 1.36 and later: the same by constrained impersonation, never as system:masters
  $ portcullis generate member-access --constrained --gateway-service-account portcullis/gateway

  # with an index that keeps what --index-resources of the gateway names, Secrets only if they are named
  $ portcullis generate member-access --index --gateway-service-account portcullis/gateway

  # apply what the index needs, with an administrator's context of the cluster: all that is missing where the gateway has such a kubeconfig, too
  $ portcullis generate member-access --index --apply --context m1

  # and nobody can change anything through the gateway, not even a cluster-admin
  $ portcullis generate member-access --constrained --read-only --context m1 --gateway-service-account portcullis/gateway`;

/**
 * Prints the RBAC objects as YAML, or applies them with --apply.
 * @throws Failure (rejects): with exit code 2 for flags that contradict each other, otherwise when the cluster cannot
 * be asked or refuses an object
 */
export async function generateMemberAccess(flags: MemberAccessFlags, terminal: Terminal): Promise<void> {
  const { head, objects } = await madeOf(flags, terminal);
  if (flags.apply !== true) {
    terminal.print(`${head}${objects.map((object) => writeYaml(object)).join('---\n')}`);
    return;
  }
  const connection = connectionToMember(flags, terminal);
  await applyAccess(connection, objects, (name) => terminal.print(`${name} applied at ${connection.root}\n`));
}

interface Made {
  /** Comments that are printed above the YAML, for the person who reads it. */
  readonly head: string;
  readonly objects: readonly AccessObject[];
}

async function madeOf(flags: MemberAccessFlags, terminal: Terminal): Promise<Made> {
  const { gatewayServiceAccount } = flags;
  if (gatewayServiceAccount === undefined) return indexAlone(flags);
  const readable = await readableResources(flags, terminal);
  const access: MemberAccess = {
    account: readAccount(gatewayServiceAccount),
    constrained: flags.constrained === true,
    readable,
    usernameOnly: flags.impersonationMode === 'username',
    extra: readExtra(flags),
    index: readIndex(flags),
  };
  return { head: headOf(access), objects: memberAccessObjects(access) };
}

/** RBAC objects for the index only, for a cluster in which the gateway may impersonate already. */
function indexAlone(flags: MemberAccessFlags): Made {
  const index = readIndex(flags);
  if (index === undefined) {
    throw usageFailure(
      '--gateway-service-account is missing',
      'Name the ServiceAccount whose token the gateway uses, or give --index alone for what the index reads.',
    );
  }
  if (flags.constrained === true || flags.readOnly === true || flags.impersonateExtra !== undefined) {
    throw usageFailure(
      '--constrained, --read-only and --impersonate-extra are about the ServiceAccount of the gateway',
      'Add --gateway-service-account NAMESPACE/NAME, or leave them out.',
    );
  }
  checkMemberFlags(flags);
  const lines = ['Made by: portcullis generate member-access --index.', ...indexLines];
  return { head: commented(lines), objects: indexAccessObjects(index) };
}

/** Adds the command `generate member-access` to the program. */
export function addGenerateCommand(program: Command, terminal: Terminal): void {
  const example = '\nExamples:\n  $ portcullis generate member-access --gateway-service-account portcullis/gateway';
  program
    .command('generate')
    .description('print configuration for others')
    .addHelpText('after', example)
    .command('member-access')
    .description("print the least RBAC a cluster must grant the gateway's ServiceAccount")
    .option(
      '--gateway-service-account <ns/name>',
      'ServiceAccount in that cluster whose token the gateway uses; with --index it may be left out where the gateway may impersonate already',
    )
    .option('--constrained', 'constrained impersonation (KEP-5284): needs Kubernetes 1.36')
    .option('--read-only', 'with --constrained: only reading, of the resources that the cluster serves now')
    .option('--apply', 'apply it in the cluster in place of printing it, with the rights of the context')
    .option('--kubeconfig <file>', 'kubeconfig of the cluster to ask (default: $KUBECONFIG, then ~/.kube/config)')
    .option('--context <name>', 'its context there (default: the current one)')
    .option('--discovery <file>', 'saved discovery documents of the cluster, in place of asking it')
    .addOption(
      new Option('--impersonation-mode <mode>', "as the gateway's: what goes out of a user")
        .choices(['full', 'username'])
        .default('full'),
    )
    .option(
      '--impersonate-extra <keys>',
      'as the gateway\'s: extra keys that go out, "*" for all (default: those that Kubernetes itself gives)',
    )
    .option('--index', 'also what the index needs to follow this cluster, as portcullis:index')
    .option(
      '--index-resources <list>',
      "with --index: as the gateway's (default: the common workload, configuration and RBAC kinds, no Secrets)",
    )
    .addHelpText('after', examples)
    .action((flags: MemberAccessFlags) => generateMemberAccess(flags, terminal));
}

async function readableResources(
  flags: MemberAccessFlags,
  terminal: Terminal,
): Promise<readonly MemberResource[] | undefined> {
  if (flags.readOnly !== true) {
    checkMemberFlags(flags);
    return undefined;
  }
  if (flags.constrained !== true) {
    throw usageFailure(
      '--read-only needs --constrained: classic impersonation cannot tell reading from writing',
      'Add --constrained; the cluster must be Kubernetes 1.36 or later.',
    );
  }
  if (flags.discovery === undefined) return discoverResources(connectionToMember(flags, terminal));
  if (flags.apply !== true && (flags.kubeconfig !== undefined || flags.context !== undefined)) {
    throw usageFailure('--discovery cannot be used together with --kubeconfig or --context', 'Give either.');
  }
  return readDiscovery(flags.discovery);
}

/**
 * Refuses flags that choose a cluster when the command sends no request to a cluster, so that they would have no
 * effect.
 * @throws Failure (usage)
 */
function checkMemberFlags({ apply, discovery, kubeconfig, context }: MemberAccessFlags): void {
  const isChosen = kubeconfig !== undefined || context !== undefined;
  if (discovery === undefined && (apply === true || !isChosen)) return;
  throw usageFailure(
    '--discovery is used only with --read-only; --kubeconfig and --context only with --read-only or --apply',
    'Leave out what is not used, or add --constrained --read-only, or --apply.',
  );
}

function connectionToMember(flags: MemberAccessFlags, terminal: Terminal): Connection {
  try {
    return findConnection(flags, terminal, serverRoot);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The advice in the original error names flags that this command does not have, so it is replaced by other advice.
    const otherwise = flags.apply === true ? 'leave out --apply' : 'give --discovery FILE';
    throw usageFailure(error.message, `Choose the cluster with --kubeconfig and --context, or ${otherwise}.`, error);
  }
}

function readAccount(text: string): MemberAccess['account'] {
  const form = /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/.exec(text);
  if (form === null) {
    throw usageFailure(
      '--gateway-service-account must be NAMESPACE/NAME',
      'For example --gateway-service-account portcullis/gateway',
    );
  }
  return { namespace: form[1]!, name: form[2]! };
}

function readIndex({ index, indexResources }: MemberAccessFlags): MemberAccess['index'] {
  if (index !== true) {
    if (indexResources !== undefined)
      throw usageFailure('--index-resources needs --index', 'Add --index, or leave out --index-resources.');
    return undefined;
  }
  return indexResources === undefined ? 'default' : splitIndexResources(indexResources);
}

function readExtra({ impersonateExtra, readOnly }: MemberAccessFlags): readonly string[] {
  if (impersonateExtra === undefined) return kubernetesExtraKeys;
  const keys = impersonateExtra
    .split(',')
    .map((key) => key.trim().toLowerCase())
    .filter((key) => key !== '');
  if (keys.includes('*') && readOnly === true) {
    throw usageFailure(
      '--read-only needs the name of every extra key',
      'List the extra keys after --impersonate-extra.',
    );
  }
  const unusable = keys.find((key) => key !== '*' && /[\s*]/.test(key));
  if (unusable !== undefined) {
    throw usageFailure(
      '--impersonate-extra holds something that is not an extra key',
      'Separate the keys by commas, without * and spaces.',
    );
  }
  return keys;
}

/** Comments above the YAML: what the objects grant, and how to check it. */
function headOf({ account, constrained, readable, usernameOnly, extra, index }: MemberAccess): string {
  const { namespace, name } = account;
  const lines = [
    `Made by: portcullis generate member-access. Apply it in the member cluster, for ServiceAccount ${namespace}/${name}:`,
    `  kubectl create namespace ${namespace}; kubectl -n ${namespace} create serviceaccount ${name}`,
    'Check what it may do:',
    `  kubectl auth can-i --list --as system:serviceaccount:${namespace}:${name}`,
  ];
  if (usernameOnly) {
    lines.push('It may send user names only: run the gateway with --impersonation-mode=username.');
  } else if (!extra.includes('*')) {
    lines.push(
      extra.length === 0
        ? 'No extra may be sent: run the gateway with --impersonate-extra "".'
        : `Users with other extra keys than these are refused here unless the gateway runs with --impersonate-extra ${extra.join(',')}.`,
    );
  }
  if (index !== undefined) lines.push(...indexLines);
  if (constrained)
    lines.push('Constrained impersonation needs Kubernetes 1.36; an older API server refuses every request.');
  if (readable !== undefined) {
    lines.push(
      'Resources that the cluster begins to serve later are not in here: generate it again after installing a CRD.',
    );
  }
  return commented(lines);
}

const indexLines: readonly string[] = [
  'For the index, what the gateway may read as portcullis:index, a name that no caller can have:',
  '  kubectl auth can-i --list --as portcullis:index',
];

function commented(lines: readonly string[]): string {
  return lines.map((line) => `# ${line}\n`).join('');
}
