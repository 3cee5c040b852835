// `portcullis index`: shows the status of a gateway's index and runs operations on the index. The gateway answers each
// operation with a sentence about what it did, which is printed.
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { findConnection } from '../connection/connection.ts';
import type { ConnectionFlags, KubeconfigFlags } from '../connection/connection.ts';
import { addConnectionFlags } from '../connection/connection-flags.ts';
import { explainStatus, statusMessage } from '../connection/explain.ts';
import { askJson } from '../connection/http.ts';
import type { ExplainStatus } from '../connection/http.ts';
import { Failure, usageFailure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { describeIndex, missingOf, readIndexStatus } from './index-status.ts';
import { writeYaml } from '../../lib/yaml/go-yaml.ts';

const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';

type Flags = ConnectionFlags & KubeconfigFlags;

/** Flags of `portcullis index status`. */
interface StatusFlags extends Flags {
  readonly output: 'table' | 'json' | 'yaml';
  readonly wait?: boolean;
  /** Seconds to wait with `--wait`; then the command fails. */
  readonly timeout: number;
}

const waitPollMs = 1_000;
const namedClusters = 5;

const statusExamples = `
Examples:
  $ portcullis index status

  # until all clusters are in the index, as after the index was moved to a database; exit code 1 when that takes longer
  $ portcullis index status --wait --timeout 30m`;

const moveExamples = `
Examples:
  # replicas are listed by: portcullis index status
  $ portcullis index move prod-eu --to 'gateway-1 5b0c3d9e2f11'

  # let the replicas decide again
  $ portcullis index move prod-eu --to any`;

const rebuildExamples = `
Examples:
  $ portcullis index rebuild prod-eu prod-us
  $ portcullis index rebuild --all`;

/**
 * Prints the status of the index; with `--wait`, waits first until the index holds all clusters completely.
 * @throws Failure (rejects) when clusters are still missing after the timeout
 */
async function showStatus(flags: StatusFlags, terminal: Terminal): Promise<void> {
  const connection = findConnection(flags, terminal);
  const call = { method: 'GET', path: `${indexPath}/status` } as const;
  const read = (): Promise<JsonObject> => askJson(connection, call, explainOperation('get', 'status'));
  let status = await read();
  const deadline = terminal.nowMs() + flags.timeout * 1000;
  while (flags.wait === true && status['whole'] !== true) {
    if (terminal.nowMs() > deadline) {
      const missing = missingOf(readIndexStatus(status));
      const more = missing.length > namedClusters ? `\n… and ${missing.length - namedClusters} more` : '';
      throw new Failure(
        `the index is not complete after ${flags.timeout} s`,
        `What is missing: \n${missing.slice(0, namedClusters).join('\n')}${more}`,
      );
    }
    await delay(waitPollMs);
    status = await read();
  }
  if (flags.output === 'json') terminal.print(`${JSON.stringify(status, null, 4)}\n`);
  else if (flags.output === 'yaml') terminal.print(writeYaml(status));
  else terminal.print(describeIndex(readIndexStatus(status)));
}

/**
 * Returns the function that explains a refused operation. It gives the gateway's own message with advice where there is
 * advice for the status, otherwise a general explanation.
 * @param verb RBAC verb that the operation needs
 * @param operation name of the operation in RBAC, as in `indexes/status`
 */
function explainOperation(verb: string, operation: string): ExplainStatus {
  return (status, body, connection) => {
    const said = statusMessage(body);
    if (said === undefined || ![400, 403, 404].includes(status)) return explainStatus(status, body, connection);
    if (status === 403) {
      const rule = `${verb} of indexes/${operation} in search.portcullis.io`;
      return new Failure(
        said,
        `Ask the operator for a rule that allows ${rule}, in RBAC of the hub or in --authorization-rules.`,
      );
    }
    const isServed = !said.includes('could not find the requested resource');
    return new Failure(
      said,
      isServed ? 'List clusters and replicas with: portcullis index status' : 'This gateway has no index.',
    );
  };
}

async function change(flags: Flags, terminal: Terminal, operation: string, body: object): Promise<void> {
  const connection = findConnection(flags, terminal);
  const call = { method: 'POST', path: `${indexPath}/${operation}`, body } as const;
  const { message } = await askJson(connection, call, explainOperation('create', operation));
  terminal.print(`${String(message)}\n`);
}

function seconds(text: string): number {
  const found = /^(\d{1,6})(s|m|h)?$/.exec(text);
  if (found === null) throw new InvalidArgumentError('It must be a duration such as 90s, 30m or 2h.');
  return Number(found[1]) * { s: 1, m: 60, h: 3600 }[(found[2] ?? 's') as 's' | 'm' | 'h'];
}

/** Adds the command `index` to the program. */
export function addIndexCommand(program: Command, terminal: Terminal): void {
  const index = program
    .command('index')
    .description(
      'show the state of the index, and move or rebuild clusters in it (needs an authorization rule of its own)',
    )
    .addHelpText('after', '\nExamples:\n  $ portcullis index status\n  $ portcullis index rebuild prod-eu');
  addConnectionFlags(index.command('status').description('clusters, objects, replicas and the database of the index'))
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'yaml']).default('table'),
    )
    .option('--wait', 'wait until every cluster is in the index completely')
    .addOption(new Option('--timeout <duration>', 'how long to wait').default(600, '10m').argParser(seconds))
    .addHelpText('after', statusExamples)
    .action((flags: StatusFlags) => showStatus(flags, terminal));
  addConnectionFlags(
    index.command('move').description('have another replica follow a cluster; only for replicas over PostgreSQL'),
  )
    .argument('<cluster>', 'name of the cluster')
    .requiredOption('--to <replica>', 'the replica, as index status names it; any: let the replicas decide again')
    .addHelpText('after', moveExamples)
    .action((cluster: string, flags: Flags & { readonly to: string }) =>
      change(flags, terminal, 'move', { cluster, ...(flags.to === 'any' ? {} : { replica: flags.to }) }),
    );
  addConnectionFlags(index.command('rebuild').description('drop what the index has of clusters, and read them anew'))
    .argument('[clusters...]', 'names of clusters')
    .option('--all', 'all clusters')
    .addHelpText('after', rebuildExamples)
    .action((clusters: readonly string[], flags: Flags & { readonly all?: boolean }) => {
      if ((clusters.length === 0) !== (flags.all === true))
        throw usageFailure('rebuild takes names of clusters, or --all', 'List them with: portcullis index status');
      return change(flags, terminal, 'rebuild', flags.all === true ? {} : { clusters });
    });
}
