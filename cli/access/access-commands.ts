// `portcullis who-can` and `portcullis what-can`: who may do something in which cluster, and what somebody may do. The
// gateway answers from the RBAC objects in its index, and only from those that the caller may read.
import { Option } from 'commander';
import type { Command } from 'commander';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { addConnectionFlags } from '../connection/connection-flags.ts';
import { findConnection } from '../connection/connection.ts';
import type { ConnectionFlags, KubeconfigFlags } from '../connection/connection.ts';
import { explainStatus, statusMessage } from '../connection/explain.ts';
import { askJson } from '../connection/http.ts';
import type { ExplainStatus } from '../connection/http.ts';
import { Failure, printable, usageFailure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { describeGaps, describeHolders, describeOthers, describeRules, unrestrictedGroups } from './access-report.ts';
import { readResource } from './asked-resource.ts';

const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';

interface AccessFlags extends ConnectionFlags, KubeconfigFlags {
  readonly clusters?: string;
  readonly clusterSelector?: string;
  readonly output: 'table' | 'json';
}

/** Flags of `portcullis who-can`, as commander parses them. */
export interface WhoCanFlags extends AccessFlags {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly mayBecome?: boolean;
}

/** Flags of `portcullis what-can`, as commander parses them. */
export interface WhatCanFlags extends AccessFlags {
  readonly group?: readonly string[];
}

const whoCanExamples = `
Examples:
  # in any namespace, in every cluster
  $ portcullis who-can delete secrets -A

  # one object in one namespace of two clusters
  $ portcullis who-can get deployments.apps web -n shop --clusters prod-eu,prod-us

  # a subresource; also those who could come to the right: by impersonation, a token, a pod, bind or escalate
  $ portcullis who-can create pods/exec -A --may-become

  # a path that is no resource
  $ portcullis who-can get /metrics`;

const whatCanExamples = `
Examples:
  # yourself
  $ portcullis what-can

  $ portcullis what-can jane --group developers --group oncall
  $ portcullis what-can system:serviceaccount:shop:web --clusters prod-eu -o json`;

/**
 * Prints who may do something. Reasons why the answer may be incomplete go to standard error.
 * @throws Failure (rejects) for words that ask nothing, and when the gateway cannot be reached or refuses
 */
export async function whoCan(
  asked: { readonly verb: string; readonly what: string; readonly name: string | undefined },
  flags: WhoCanFlags,
  terminal: Terminal,
): Promise<void> {
  const { namespace, allNamespaces, mayBecome } = flags;
  if (namespace !== undefined && allNamespaces === true)
    throw usageFailure('-n and -A exclude each other', '-A asks about any namespace, as no flag does.');
  const resource = readResource(asked.what);
  if ('path' in resource && (namespace !== undefined || asked.name !== undefined))
    throw usageFailure(
      'a path has neither name nor namespace',
      'Leave them out, as in: portcullis who-can get /metrics',
    );
  const parameters = { verb: asked.verb, ...resource, name: asked.name, namespace, mayBecome };
  const answer = await askIndex('whocan', parameters, flags, terminal);
  if (flags.output === 'json') return printJson(answer, terminal);
  const holders = describeHolders(answer);
  if (holders === '') terminal.note('Nobody, by the roles and bindings that you may read\n');
  terminal.print(holders);
  if (mayBecome === true) {
    const others = describeOthers(answer);
    if (others === '') terminal.note('Nobody else could get this right, by the roles and bindings that you may read\n');
    else terminal.print(`${holders === '' ? '' : '\n'}${others}`);
  }
  for (const group of unrestrictedGroups(answer))
    terminal.note(`Members of the group ${group} may do everything, whatever roles say\n`);
  terminal.note(describeGaps(answer));
}

/**
 * Prints what a user may do; without a user, what the caller may do. Reasons why the answer may be incomplete go to
 * standard error.
 * @throws Failure (rejects) when the gateway cannot be reached or refuses
 */
export async function whatCan(user: string | undefined, flags: WhatCanFlags, terminal: Terminal): Promise<void> {
  if (user === undefined && flags.group !== undefined)
    throw usageFailure('--group needs a user', 'Give one, as in: portcullis what-can jane --group developers');
  const answer = await askIndex('whatcan', { user, groups: flags.group }, flags, terminal);
  if (flags.output === 'json') return printJson(answer, terminal);
  const rules = describeRules(answer);
  if (rules === '') terminal.note('Nothing, by the roles and bindings that you may read\n');
  terminal.print(rules);
  const everything = answer['unrestrictedIn'];
  if (Array.isArray(everything) && everything.length > 0)
    terminal.note(`May do everything, as a member of system:masters, in: ${printable(everything.join(', '))}\n`);
  terminal.note(describeGaps(answer));
}

type Parameter = string | boolean | readonly string[] | undefined;

async function askIndex(
  question: 'whocan' | 'whatcan',
  parameters: Readonly<Record<string, Parameter>>,
  flags: AccessFlags,
  terminal: Terminal,
): Promise<JsonObject> {
  const connection = findConnection(flags, terminal);
  const { clusters, clusterSelector } = flags;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...parameters, clusters, clusterSelector }))
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) query.append(name, String(each));
  const path = `${indexPath}/${question}?${query.toString()}`;
  return await askJson(connection, { method: 'GET', path }, explainAccess);
}

/**
 * Explains a refused question: for 400 and 404 by the gateway's own message, for other statuses as for every request.
 */
const explainAccess: ExplainStatus = (status, body, connection) => {
  const said = statusMessage(body);
  if (said === undefined || (status !== 400 && status !== 404)) return explainStatus(status, body, connection);
  return new Failure(said, status === 404 ? 'This gateway has no index.' : '');
};

function printJson(answer: JsonObject, terminal: Terminal): void {
  terminal.print(`${JSON.stringify(answer, null, 4)}\n`);
}

/** Adds the commands `who-can` and `what-can` to the program. */
export function addAccessCommands(program: Command, terminal: Terminal): void {
  addShared(
    program.command('who-can').description('who may do something, in every cluster, by roles that you may read'),
  )
    .argument('<verb>', 'get, list, create, delete and so on; * for all')
    .argument('<what>', 'a resource (secrets, deployments.apps, pods/log), or a path such as /metrics')
    .argument('[name]', 'name of an object; without it, somebody who may for one name is named too')
    .option('-n, --namespace <name>', 'in this namespace')
    .option('-A, --all-namespaces', 'in any namespace (as without -n)')
    .option('--may-become', 'also who could come to the right by somebody or something else')
    .addHelpText('after', whoCanExamples)
    .action((verb: string, what: string, name: string | undefined, flags: WhoCanFlags) =>
      whoCan({ verb, what, name }, flags, terminal),
    );
  addShared(
    program.command('what-can').description('what somebody may do, in every cluster, by roles that you may read'),
  )
    .argument('[user]', 'name of a user, as the clusters see it (default: yourself)')
    .addOption(
      new Option('--group <name>', 'a group of that user (repeatable)').argParser(
        (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
      ),
    )
    .addHelpText('after', whatCanExamples)
    .action((user: string | undefined, flags: WhatCanFlags) => whatCan(user, flags, terminal));
}

function addShared(command: Command): Command {
  return addConnectionFlags(command)
    .option('--clusters <names>', 'only these clusters, separated by commas')
    .option('--cluster-selector <selector>', 'only clusters with these labels in the gateway, such as env=prod')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json']).default('table'));
}
