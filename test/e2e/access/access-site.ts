// Real members with random RBAC, a gateway whose index has it, and the questions that users ask about it.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { makeUser } from '../../../model/user.ts';
import type { User } from '../../../model/user.ts';
import { indexRules, reviewRules } from '../../../lib/rights/index-rules.ts';
import { rightsLabel } from '../../../rights/modes.ts';
import { gatewayUser, startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayOptions, GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { makeRightsMember } from '../index/index-rights-member.ts';
import type { RightsMember } from '../index/index-rights-member.ts';
import { aggregationSettled } from '../index/index-rights-site.ts';
import { makePick, pickingFor, randomRbac, randomUsers, worldNamespaces } from '../index/index-rights-world.ts';
import type { WorldObject } from '../index/index-rights-world.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import type { RawAnswer } from '../kubectl/kubectl-as.ts';
import { drawRule } from './access-world.ts';

export const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';
export const rbac = 'rbac.authorization.k8s.io';
/** May read everything. */
export const root = { name: 'root', groups: ['system:masters'], token: 'root-at-the-gateway' };

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface AccessRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface AccessRow {
  readonly cluster: string;
  /** Absent in what-can's rows about the caller whose binding the caller may not read, and so is `via`. */
  readonly subject?: Subject;
  readonly namespace?: string;
  readonly rule: AccessRule;
  readonly via?: { readonly binding: { readonly name: string; readonly namespace?: string } };
}

export interface AccessGap {
  readonly cluster?: string;
  readonly reason: string;
  readonly message: string;
}

export interface AccessAnswer {
  readonly items: readonly AccessRow[];
  readonly incomplete: readonly AccessGap[];
  readonly unrestricted?: readonly Subject[];
  readonly unrestrictedIn?: readonly string[];
  readonly mayBecome?: readonly (AccessRow & { readonly way: string; readonly becomes: readonly Subject[] })[];
}

export interface AccessSite {
  readonly plane: ControlPlane;
  readonly gateway: GatewayProcess;
  readonly members: readonly RightsMember[];
  readonly users: readonly User[];
  tokenOf(user: { readonly name: string }): string;
  /** The whole answer to `whocan` or `whatcan`. */
  answer(token: string, question: 'whocan' | 'whatcan', query: Query): Promise<RawAnswer>;
  /** The parsed answer, which must have the status 200. */
  asked(token: string, question: 'whocan' | 'whatcan', query: Query): Promise<AccessAnswer>;
  /** Makes other random RBAC beside what is there, and resolves when the index has it. */
  change(prefix: string): Promise<void>;
  /** Makes objects in a member. */
  make(member: RightsMember, objects: readonly WorldObject[]): Promise<void>;
  /** Resolves when the index has all RBAC that the members had at the call. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface AccessSiteOptions {
  readonly members: readonly string[];
  /** Random users, and RBAC for them in every member. */
  readonly users: number;
  readonly seed: number;
  readonly apiserverArgs?: readonly string[];
  readonly gateway?: Partial<GatewayOptions>;
  /** Members that the gateway's operator labels so that copied RBAC decides there, whatever other authorizers say. */
  readonly byRbac?: readonly string[];
}

/** Starts it; resolves when the index has the RBAC of every member. */
export async function startAccessSite(options: AccessSiteOptions): Promise<AccessSite> {
  const pickFor = pickingFor(options.seed);
  // A token file has neither extra nor a hub.
  const users = randomUsers(makePick(options.seed), options.users).map(({ name, uid, groups }) =>
    makeUser({ name, uid, groups }),
  );
  const plane = await startControlPlane({
    members: [...options.members],
    controllerManager: true,
    scheduler: false,
    audit: false,
    ...(options.apiserverArgs === undefined ? {} : { apiserverArgs: [...options.apiserverArgs] }),
  });
  const members = plane.members.map(makeRightsMember);
  let gateway: GatewayProcess | undefined;
  const stop = async (): Promise<void> => {
    await gateway?.stop('SIGKILL');
    for (const member of members) member.close();
    await plane.stop();
  };
  const fill = async (prefix: string): Promise<void> => {
    await Promise.all(
      members.map(async (member) => {
        await member.make(randomRbac(pickFor(member.name, prefix), users, prefix, drawRule));
        await aggregationSettled(member);
      }),
    );
  };
  try {
    await Promise.all(members.map((member) => member.make([...worldNamespaces.map(namespace), ...indexAccess()])));
    if (users.length > 0) await fill('first');
    if (options.byRbac !== undefined) await labelByRbac(plane.gatewayKubeconfig, options.byRbac);
    gateway = await startGatewayProcess({
      kubeconfigs: [plane.gatewayKubeconfig],
      ...options.gateway,
      users: [
        ...users.map(({ name, uid, groups }) => ({ name, uid, groups, token: tokenOf({ name }) })),
        root,
        ...(options.gateway?.users ?? []),
      ],
      args: ['--index-resources', 'namespaces', ...(options.gateway?.args ?? [])],
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const answer: AccessSite['answer'] = (token, question, query) =>
    ask(gateway, token, 'GET', `${indexPath}/${question}?${queryText(query)}`);
  const asked: AccessSite['asked'] = async (token, question, query) => {
    const { status, body } = await answer(token, question, query);
    assert.equal(status, 200, `${question} ${JSON.stringify(query)}: ${body.toString('utf8')}`);
    return JSON.parse(body.toString('utf8')) as AccessAnswer;
  };
  let fences = 0;
  const settled = async (): Promise<void> => {
    const verb = `fence-${(fences += 1)}`;
    for (const member of members) await member.make(fence(verb));
    await eventually(
      'the index has the members’ RBAC',
      async () => {
        const { items } = await asked(root.token, 'whocan', { verb, resource: 'fences', group: 'test' });
        // Administrators may do it, too.
        return items.filter(({ subject }) => subject?.name === 'fence').length === 2 * members.length;
      },
      { timeoutMs: 60_000, everyMs: 100 },
    );
  };
  const site: AccessSite = {
    ...{ plane, gateway, members, users, tokenOf, answer, asked, settled, stop },
    change: async (prefix) => {
      await fill(prefix);
      await settled();
    },
    make: async (member, objects) => {
      await member.make(objects);
    },
  };
  try {
    await settled();
    return site;
  } catch (error) {
    await stop();
    throw new Error(`the index did not settle: ${String(error)}\n${gateway.log().slice(-3000)}`, { cause: error });
  }
}

function tokenOf({ name }: { readonly name: string }): string {
  return `${name.replaceAll(':', '-')}-at-the-gateway`;
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) parameters.append(name, String(each));
  return parameters.toString();
}

/** One object of each kind that rights are made of: each kind is followed by a watch of its own. */
function fence(verb: string): WorldObject[] {
  const rules = [{ verbs: [verb], apiGroups: ['test'], resources: ['fences'] }];
  return [
    role('ClusterRole', verb, undefined, ...rules),
    role('Role', verb, 'default', ...rules),
    bound(verb, undefined, `ClusterRole/${verb}`, user('fence')),
    bound(verb, 'default', `Role/${verb}`, user('fence')),
  ];
}

export function namespace(name: string): WorldObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

async function labelByRbac(kubeconfig: string, names: readonly string[]): Promise<void> {
  const config = parse(await readFile(kubeconfig, 'utf8')) as { contexts: { name: string; context: object }[] };
  const extensions = [{ name: 'gateway.portcullis.io/labels', extension: { [rightsLabel]: 'rbac' } }];
  for (const each of config.contexts) if (names.includes(each.name)) Object.assign(each.context, { extensions });
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
}

/** What the index needs, and the gateway's own credential where members have authorizers beside RBAC. */
function indexAccess(): WorldObject[] {
  return [
    role('ClusterRole', 'portcullis-index', undefined, ...indexRules(['namespaces'])),
    bound('portcullis-index', undefined, 'ClusterRole/portcullis-index', user('portcullis:index')),
    role('ClusterRole', 'portcullis-reviews', undefined, ...reviewRules),
    bound('portcullis-reviews', undefined, 'ClusterRole/portcullis-reviews', user(gatewayUser)),
  ];
}

export function role(
  kind: 'Role' | 'ClusterRole',
  name: string,
  inNamespace: string | undefined,
  ...rules: readonly object[]
): WorldObject {
  const metadata = { name, ...(inNamespace === undefined ? {} : { namespace: inNamespace }) };
  return { apiVersion: `${rbac}/v1`, kind, metadata, rules };
}

/** A binding. @param roleRef `Role/<name>` or `ClusterRole/<name>` */
export function bound(
  name: string,
  inNamespace: string | undefined,
  roleRef: string,
  ...subjects: readonly object[]
): WorldObject {
  const [kind = '', refers = ''] = roleRef.split('/');
  return {
    apiVersion: `${rbac}/v1`,
    kind: inNamespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...(inNamespace === undefined ? {} : { namespace: inNamespace }) },
    roleRef: { apiGroup: rbac, kind, name: refers },
    subjects,
  };
}

export function user(name: string): object {
  return { kind: 'User', apiGroup: rbac, name };
}
