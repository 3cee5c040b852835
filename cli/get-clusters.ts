// `portcullis get clusters`: prints the clusters behind a gateway and their state. The columns are those of the Table
// that the gateway sends. With json and yaml the list is printed as received, so that fields of a newer gateway are not
// lost.
import { Option } from 'commander';
import type { Command } from 'commander';
import { findConnection } from './connection/connection.ts';
import type { ConnectionFlags, KubeconfigFlags } from './connection/connection.ts';
import { addConnectionFlags } from './connection/connection-flags.ts';
import { Failure } from './terminal/failure.ts';
import { clustersPath } from './connection/gateway-url.ts';
import { getJson } from './connection/http.ts';
import { printTable } from './terminal/table.ts';
import type { Terminal } from './terminal/terminal.ts';
import { writeYaml } from '../lib/yaml/go-yaml.ts';

/** Flags of `portcullis get clusters`, as commander parses them. */
export interface GetClustersFlags extends ConnectionFlags, KubeconfigFlags {
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

// The Accept header that kubectl sends: a Table, or plain JSON from a server that has no Tables.
const acceptTable = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

const examples = `
Examples:
  # the gateway of the current kubectl context
  $ portcullis get clusters

  # another context, with the columns of lesser importance
  $ portcullis get clusters --context portcullis-m1 -o wide

  # without a kubeconfig
  $ portcullis get clusters --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN" -o json`;

/**
 * Asks the gateway for its clusters and prints them.
 * @throws Failure (rejects) when the gateway cannot be reached or refuses
 */
export async function getClusters(flags: GetClustersFlags, terminal: Terminal): Promise<void> {
  const connection = findConnection(flags, terminal);
  if (flags.output === 'json' || flags.output === 'yaml') {
    const list = await getJson(connection, clustersPath, 'application/json');
    terminal.print(flags.output === 'json' ? `${JSON.stringify(list, null, 4)}\n` : writeYaml(list));
    return;
  }
  const table = await getJson(connection, clustersPath, acceptTable);
  if (table['kind'] !== 'Table') {
    throw new Failure(`${connection.root} does not answer with tables`, 'Use -o json or -o yaml.');
  }
  const text = printTable(table, { wide: flags.output === 'wide', nowMs: terminal.nowMs() });
  if (text === '') terminal.note('No resources found\n');
  else terminal.print(text);
}

/** Adds the command `get clusters` to the program. */
export function addGetCommand(program: Command, terminal: Terminal): void {
  const get = program
    .command('get')
    .description('show what a gateway knows')
    .addHelpText('after', '\nExamples:\n  $ portcullis get clusters\n  $ portcullis get clusters -o wide');
  addConnectionFlags(
    get.command('clusters').alias('cluster').description('list the clusters behind a gateway and their state'),
  )
    .addOption(
      new Option('-o, --output <format>', 'how to print them')
        .choices(['table', 'wide', 'json', 'yaml'])
        .default('table'),
    )
    .addHelpText('after', examples)
    .action((flags: GetClustersFlags) => getClusters(flags, terminal));
}
