// `portcullis kubeconfig`: writes one kubectl context for every cluster behind a gateway, to a new file, to standard
// output, or into an existing kubeconfig. The result contains the user's credential, so files get mode 0600.
import { Option } from 'commander';
import type { Command } from 'commander';
import { editFile, readIfPresent, replaceFile } from '../files/atomic-file.ts';
import { connectionFromFlags } from '../connection/connection.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { Failure, printable, usageFailure } from '../terminal/failure.ts';
import { clustersPath } from '../connection/gateway-url.ts';
import { getJson } from '../connection/http.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { hasForeignEntries, mergeKubeconfig } from './kubeconfig-document.ts';
import type { GatewayEntries, MergedKubeconfig } from './kubeconfig-document.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Flags of `portcullis kubeconfig`, as commander parses them. */
export interface KubeconfigVerbFlags extends ConnectionFlags {
  readonly server: string;
  readonly cluster?: readonly string[];
  readonly all?: boolean;
  readonly index?: boolean;
  readonly output?: string;
  readonly merge?: string;
  readonly prefix: string;
}

const examples = `
Examples:
  # every cluster, into the kubeconfig that kubectl reads
  $ portcullis kubeconfig --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN" \\
      --all --merge ~/.kube/config
  $ kubectl --context portcullis-m1 get pods

  # two clusters, into a file of their own
  $ portcullis kubeconfig --server https://127.0.0.1:8443 --certificate-authority ca.crt \\
      --client-certificate me.crt --client-key me.key --cluster m1 m2 --output team.kubeconfig

  # and one context for all clusters together
  $ portcullis kubeconfig --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN" \\
      --all --index --merge ~/.kube/config
  $ kubectl --context portcullis-all get pods -A -l app=web

  # print it
  $ portcullis kubeconfig --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN"`;

/**
 * Asks the gateway for its clusters and writes their contexts.
 * @throws Failure (rejects) when the gateway cannot be asked, a named cluster does not exist, or the file cannot be
 * written
 */
export async function kubeconfig(flags: KubeconfigVerbFlags, terminal: Terminal): Promise<void> {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(flags.prefix)) {
    throw usageFailure('--prefix may hold letters, digits, ".", "_" and "-" only', 'Leave it out for "portcullis".');
  }
  const connection = connectionFromFlags(flags, terminal);
  const list = await getJson(connection, clustersPath, 'application/json');
  const entries = {
    ...entriesFor(connection, chooseClusters(list, flags.cluster, connection, terminal), flags.prefix),
    index: flags.index === true,
  };
  if (entries.clusters.length === 0) terminal.note(`${connection.root} shows you no clusters\n`);
  if (flags.merge !== undefined) {
    const file = flags.merge;
    let merged: MergedKubeconfig | undefined;
    editFile(file, (text) => {
      merged = mergeKubeconfig(text, entries, { file, removeGone: flags.all === true });
      return merged.text;
    });
    if (merged !== undefined) report(merged, file, terminal);
    return;
  }
  const fresh = mergeKubeconfig('', entries, { file: flags.output ?? 'stdout', removeGone: false });
  if (flags.output === undefined) {
    terminal.print(fresh.text);
    return;
  }
  if (hasForeignEntries(readIfPresent(flags.output), flags.prefix, flags.output)) {
    throw usageFailure(
      `${flags.output} holds entries that Portcullis did not write, and --output would replace the whole file`,
      `Use --merge ${flags.output} to add to it, or another file name.`,
    );
  }
  replaceFile(flags.output, fresh.text);
  report(fresh, flags.output, terminal);
}

function entriesFor(connection: Connection, clusters: readonly string[], prefix: string): GatewayEntries {
  const { root, ca, token, clientCertificate } = connection;
  return { prefix, root, ca, token, clientCertificate, clusters };
}

interface ListedCluster {
  readonly name: string;
  /**
   * The reason that the gateway gives why no request can reach the cluster under this name; undefined when requests
   * can.
   */
  readonly unusable: string | undefined;
}

/**
 * Returns the names of the clusters for which contexts are written: those in `asked`, in that order, or all clusters
 * that can be used.
 * @throws Failure when a cluster in `asked` does not exist or cannot be used
 */
function chooseClusters(
  list: JsonObject,
  asked: readonly string[] | undefined,
  connection: Connection,
  terminal: Terminal,
): readonly string[] {
  const known = listedClusters(list, connection, terminal);
  if (asked === undefined) {
    for (const { name, unusable } of known) {
      if (unusable !== undefined) terminal.note(`warning: left out ${name}: ${printable(unusable)}\n`);
    }
    return known.filter(({ unusable }) => unusable === undefined).map(({ name }) => name);
  }
  const unknown = asked.filter((name) => !known.some((cluster) => cluster.name === name));
  if (unknown.length > 0) {
    throw new Failure(
      `${connection.root} has no cluster ${unknown.map((name) => `"${name}"`).join(', ')} that you may see`,
      `Clusters there: ${known.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  }
  const unusable = known.find((cluster) => cluster.unusable !== undefined && asked.includes(cluster.name));
  if (unusable !== undefined) {
    throw new Failure(
      `cluster "${unusable.name}" cannot be used: ${unusable.unusable}`,
      'Ask the operator to rename it.',
    );
  }
  return [...new Set(asked)];
}

function listedClusters(list: JsonObject, connection: Connection, terminal: Terminal): readonly ListedCluster[] {
  const items: unknown = list['items'];
  if (!Array.isArray(items)) {
    throw new Failure(`${connection.root} answered something that is not a list of clusters`, 'Check --server.');
  }
  return items.flatMap((item: unknown) => {
    const name = isJsonObject(item) && isJsonObject(item['metadata']) ? item['metadata']['name'] : undefined;
    // Security: the name becomes part of a path and of YAML, so a cluster with anything but a valid Kubernetes name is
    // left out.
    if (typeof name === 'string' && name.length <= 253 && /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(name)) {
      return [{ name, unusable: nameConflict(item) }];
    }
    terminal.note('warning: left out a cluster whose name is not a Kubernetes name\n');
    return [];
  });
}

/**
 * The message of a cluster's condition NameConflict; undefined without that condition. A cluster whose name another
 * cluster has already is listed under a substitute name, by which no request can reach it.
 */
function nameConflict(item: unknown): string | undefined {
  const status = isJsonObject(item) ? item['status'] : undefined;
  const conditions = isJsonObject(status) ? status['conditions'] : undefined;
  if (!Array.isArray(conditions)) return undefined;
  const conflict = conditions.filter(isJsonObject).find(({ reason }) => reason === 'NameConflict');
  return conflict === undefined ? undefined : String(conflict['message']);
}

function report({ contexts, removed, currentContext }: MergedKubeconfig, file: string, terminal: Terminal): void {
  terminal.note(`wrote ${contexts.length === 1 ? '1 context' : `${contexts.length} contexts`} to ${file}\n`);
  if (removed.length > 0) terminal.note(`removed, because the cluster is gone: ${removed.join(', ')}\n`);
  if (currentContext !== undefined && removed.includes(currentContext)) {
    terminal.note(
      `the current context ${currentContext} was among them; choose another: kubectl config use-context NAME\n`,
    );
  }
  if (contexts[0] !== undefined) {
    terminal.note(`try: kubectl --kubeconfig ${file} --context ${contexts[0]} get namespaces\n`);
  }
}

/** Adds the command `kubeconfig` to the program. */
export function addKubeconfigCommand(program: Command, terminal: Terminal): void {
  program
    .command('kubeconfig')
    .description('write kubectl contexts for the clusters behind a gateway')
    .requiredOption('--server <url>', 'address of the gateway, as in https://127.0.0.1:8443')
    .option(
      '--certificate-authority <pem>',
      "PEM certificate of the CA that signed the gateway's certificate (default: the system's CAs)",
    )
    .option('--token <token>', 'bearer token; it is stored in the kubeconfig')
    .option('--client-certificate <file>', 'PEM client certificate, in place of a token; embedded')
    .option('--client-key <file>', 'PEM key of the client certificate; embedded')
    .addOption(new Option('--cluster <name...>', 'only these clusters (default: all)').conflicts('all'))
    .option('--all', 'every cluster; with --merge also remove contexts of clusters that are gone')
    .addOption(new Option('--output <file>', 'write a new file (default: print to stdout)').conflicts('merge'))
    .option(
      '--index',
      'also the contexts <prefix>-all (objects of all clusters from the index, read-only) and <prefix> (the API of the gateway)',
    )
    .option('--merge <file>', 'add to an existing kubeconfig, keeping everything else in it')
    .option('--prefix <name>', 'contexts are named <prefix>-<cluster>', 'portcullis')
    .addHelpText('after', examples)
    .action((flags: KubeconfigVerbFlags) => kubeconfig(flags, terminal));
}
