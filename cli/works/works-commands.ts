// `portcullis works`: lists the ManifestWorks of a hub and their state, shows their history and what they would change,
// and restores an earlier spec. Requests go to the hub, and through the gateway to clusters, both with the rights of
// the person who runs the command.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import {
  connectionFromFlags,
  findConnection,
  type ConnectionFlags,
  type KubeconfigFlags,
} from '../connection/connection.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { aggregatedRoot, serverRoot } from '../connection/gateway-url.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { hubWorks, readWorkName, type HubWorks } from './hub-works.ts';
import { diffWork, type DiffFlags } from './works-diff.ts';
import { showHistory, type HistoryFlags } from './works-history.ts';
import { listWorks, type ListFlags } from './works-list.ts';
import { rollBack, type RollbackFlags } from './works-rollback.ts';

const listExamples = `
Examples:
  $ portcullis works list
  $ portcullis works list --clusters prod-eu,prod-us -o wide`;

const diffExamples = `
Examples:
  # through the gateway's APIService of the hub
  $ portcullis works diff prod-eu/web

  # through the gateway's own address; what going back to revision 3 would change
  $ portcullis works diff prod-eu/web --to 3 --server https://gateway.example.com:8443 --token "$TOKEN"`;

const historyExamples = `
Examples:
  $ portcullis works history prod-eu/web
  $ portcullis works history prod-eu/web --revision 3`;

const rollbackExamples = `
Examples:
  # to the spec before, after a look at what that changes in the work
  $ portcullis works rollback prod-eu/web --dry-run
  $ portcullis works rollback prod-eu/web

  $ portcullis works rollback prod-eu/web --to 3`;

/** Adds the command `works` and its subcommands to the program. */
export function addWorksCommands(program: Command, terminal: Terminal): void {
  const works = program
    .command('works')
    .description('the ManifestWorks of a hub: list, diff, history, rollback')
    .addHelpText('after', listExamples);
  const hubOf = (flags: KubeconfigFlags): HubWorks => hubWorks(findConnection(flags, terminal, serverRoot));
  addHubFlags(works.command('list').description('list the works of all clusters and their state'))
    .option('--clusters <names>', 'only of these clusters, separated by commas')
    .addOption(outputOption(['table', 'wide', 'json']))
    .addHelpText('after', listExamples)
    .action((flags: ListFlags & KubeconfigFlags) => listWorks(hubOf(flags), flags, terminal));
  addGatewayFlags(
    addHubFlags(works.command('diff')).description('what executing a work would change in its cluster, as yourself'),
  )
    .argument('<work>', 'CLUSTER/NAME')
    .addOption(revisionOption('--to <revision>', 'with the spec of this revision in place of the present one'))
    .addOption(outputOption(['table', 'json']))
    .addHelpText('after', diffExamples)
    .action((work: string, flags: DiffFlags & KubeconfigFlags & ConnectionFlags) => {
      const name = readWorkName(work);
      // --kubeconfig and --context choose the hub; the other connection flags are about the gateway. So only these two
      // are used for the hub.
      const { kubeconfig, context } = flags;
      const hubFlags = { ...(kubeconfig !== undefined && { kubeconfig }), ...(context !== undefined && { context }) };
      const hub = findConnection(hubFlags, terminal, serverRoot);
      return diffWork({ hub: hubWorks(hub), gateway: gatewayOf(hub, flags, terminal) }, name, flags, terminal);
    });
  addHubFlags(works.command('history').description('the specs of a work that were executed'))
    .argument('<work>', 'CLUSTER/NAME')
    .addOption(revisionOption('--revision <revision>', 'print the spec of this revision, without values of Secrets'))
    .addOption(outputOption(['table', 'json']))
    .addHelpText('after', historyExamples)
    .action((work: string, flags: HistoryFlags & KubeconfigFlags) =>
      showHistory(hubOf(flags), readWorkName(work), flags, terminal),
    );
  addHubFlags(works.command('rollback').description('give a work an earlier spec again'))
    .argument('<work>', 'CLUSTER/NAME')
    .addOption(revisionOption('--to <revision>', 'this revision (default: the last one with another spec)'))
    .option('--dry-run', 'let the hub say whether it is allowed, print what changes, and change nothing')
    .addOption(outputOption(['table', 'json']))
    .addHelpText('after', rollbackExamples)
    .action((work: string, flags: RollbackFlags & KubeconfigFlags) =>
      rollBack(hubOf(flags), readWorkName(work), flags, terminal),
    );
}

/**
 * Returns the connection to the gateway: at the address in --server, or else through the gateway's APIService on the
 * hub.
 */
function gatewayOf(hub: Connection, flags: ConnectionFlags, terminal: Terminal): Connection {
  const { server } = flags;
  return server === undefined
    ? { ...hub, root: aggregatedRoot(hub.root) }
    : connectionFromFlags({ ...flags, server }, terminal);
}

function addHubFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the hub (default: $KUBECONFIG, then ~/.kube/config)')
    .option('--context <name>', 'context of that kubeconfig (default: the current one)');
}

/** Adds the flags that say where the gateway is, for requests to clusters, which the hub cannot answer. */
function addGatewayFlags(command: Command): Command {
  return command
    .option('--server <url>', "the gateway's own address (default: its APIService of the hub)")
    .option('--token <token>', 'bearer token for that address')
    .option('--certificate-authority <file>', "PEM certificate of the CA that signed the gateway's certificate")
    .option('--client-certificate <file>', 'PEM client certificate, in place of a token')
    .option('--client-key <file>', 'PEM key of the client certificate');
}

function outputOption(formats: readonly string[]): Option {
  return new Option('-o, --output <format>', 'how to print it').choices(formats).default('table');
}

function revisionOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
    throw new InvalidArgumentError('It must be the number of a revision.');
  });
}
