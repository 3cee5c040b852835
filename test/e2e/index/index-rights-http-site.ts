// A gateway with its own index over real members with random RBAC, random users who ask it over HTTP, and what the
// members themselves let each user see: what tests of rights over HTTP start from.
import assert from 'node:assert/strict';
import type { User } from '../../../model/user.ts';
import { makeUser } from '../../../model/user.ts';
import { indexRules } from '../../../lib/rights/index-rules.ts';
import type { RowVerb } from '../../../rights/rbac/rbac-view.ts';
import { outgoingUser } from '../../../auth/rules/impersonation.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { inParallel, makeRightsMember } from './index-rights-member.ts';
import type { ListedObject, RightsMember } from './index-rights-member.ts';
import { remembering, visibleBy } from './index-rights-oracle.ts';
import { fillMember } from './index-rights-site.ts';
import { makePick, pickingFor, randomUsers, worldTypes } from './index-rights-world.ts';
import type { Pick, WorldType } from './index-rights-world.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

export const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const root = { name: 'root', groups: ['system:masters'], token: 'root-at-the-gateway' };
/** Has no rights but those that a test gives. */
export const late = { name: 'late', groups: [], token: 'late-at-the-gateway' };

/** An object of a member. */
export interface Row {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly object: ListedObject;
}

/** Who asks, and what the members say about them. */
export interface Caller {
  readonly user: User;
  readonly token: string;
  readonly pick: Pick;
  sees(verb: RowVerb, type: WorldType, row: Row): Promise<boolean>;
  seen(verb: RowVerb, type: WorldType): Promise<readonly Row[]>;
  /** The member's word on one request about this object, with any verb. */
  may(verb: string, type: WorldType, row: Row): Promise<boolean>;
}

export interface RightsHttpSite {
  readonly gateway: GatewayProcess;
  readonly members: readonly RightsMember[];
  readonly users: readonly User[];
  /** Everything that the members have. */
  readonly rows: ReadonlyMap<WorldType, readonly Row[]>;
  /** Runs this for every user, some at a time. */
  eachCaller(run: (caller: Caller) => Promise<void>): Promise<void>;
  /** The JSON of an answer that must have the status 200. */
  json(user: { readonly token: string }, path: string): Promise<unknown>;
  stop(): Promise<void>;
}

export function typeName({ group, version, resource }: WorldType): string {
  return `${resource}.${version}.${group}`;
}

/** The path of a type or an object, below the path of a Kubernetes API. */
export function pathBelow(prefix: string, { group, version, resource }: WorldType, namespace = '', name = ''): string {
  const api = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const where = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `${prefix}${api}${where}/${resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
}

export function keysOf(found: readonly Row[]): readonly string[] {
  return found.map(({ cluster, namespace, name }) => `${cluster}/${namespace}/${name}`).toSorted();
}

function tokenOf(name: string): string {
  return `${name.replaceAll(':', '-')}-at-the-gateway`;
}

/** Starts members and gateway; resolves when the index has every row. */
export async function startRightsHttpSite(size: {
  readonly users: number;
  readonly members: number;
  readonly seed: number;
}): Promise<RightsHttpSite> {
  const pickFor = pickingFor(size.seed);
  // A token file has neither extra nor a hub.
  const users = randomUsers(makePick(size.seed), size.users).map(({ name, uid, groups }) =>
    makeUser({ name, uid, groups }),
  );
  const plane = await startControlPlane({
    members: Array.from({ length: size.members }, (_, index) => `m${index}`),
    controllerManager: true,
    scheduler: false,
    audit: false,
  });
  const members = plane.members.map(makeRightsMember);
  let gateway: GatewayProcess | undefined;
  const stop = async (): Promise<void> => {
    await gateway?.stop('SIGKILL');
    for (const member of members) member.close();
    await plane.stop();
  };
  try {
    await Promise.all(members.map((member) => fillMember(member, users, pickFor(member.name))));
    const resources = worldTypes.map(({ group, resource }) => (group === '' ? resource : `${resource}.${group}`));
    for (const member of members) await allowIndex(member, resources);
    gateway = await startGatewayProcess({
      kubeconfigs: [plane.gatewayKubeconfig],
      users: [...users.map(({ name, uid, groups }) => ({ name, uid, groups, token: tokenOf(name) })), root, late],
      args: ['--index-resources', resources.join(',')],
    });
    const rows = await rowsOf(members);
    const site = { gateway, members, users, rows, stop };
    const json: RightsHttpSite['json'] = async ({ token }, path) => {
      const { status, body } = await ask(site.gateway, token, 'GET', path);
      assert.equal(status, 200, `${path}: ${status} ${body.toString('utf8')}`);
      return JSON.parse(body.toString('utf8'));
    };
    const hasAll = async (type: WorldType): Promise<boolean> => {
      const { count } = (await json(root, `${indexPath}/counts?resource=${typeName(type)}`)) as { count?: number };
      return count === rows.get(type)!.length;
    };
    await eventually(
      'the index has every row',
      async () => (await Promise.all(worldTypes.map(hasAll))).every((each) => each),
      { timeoutMs: 60_000, everyMs: 200 },
    );
    return {
      ...site,
      json,
      eachCaller: async (run) =>
        await inParallel(
          users.map((user) => callerOf(user, site, pickFor(user.name))),
          run,
          6,
        ),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function allowIndex(member: RightsMember, resources: readonly string[]): Promise<void> {
  const rules = indexRules(resources);
  await member.make(grantedClusterRole('portcullis-index', rules, userSubject('portcullis:index')));
}

async function rowsOf(members: readonly RightsMember[]): Promise<ReadonlyMap<WorldType, readonly Row[]>> {
  const rows = new Map<WorldType, readonly Row[]>();
  for (const type of worldTypes) {
    const found: Row[] = [];
    for (const member of members) {
      for (const object of await member.list(type)) {
        const { namespace = '', name } = object.metadata;
        found.push({ cluster: member.name, namespace, name, object });
      }
    }
    rows.set(type, found);
  }
  return rows;
}

/** What the members have and say. */
type Known = { readonly [Key in 'members' | 'rows']: RightsHttpSite[Key] };

function callerOf(user: User, { members, rows }: Known, pick: Pick): Caller {
  const answers = new Map<string, ReturnType<typeof remembering>>();
  const identity = outgoingUser(user);
  const sees: Caller['sees'] = async (verb, type, { cluster, namespace, name }) => {
    const key = JSON.stringify([cluster, type.group, type.resource]);
    let may = answers.get(key);
    if (may === undefined) {
      const member = members.find((each) => each.name === cluster)!;
      may = remembering((asked, inNamespace, named) =>
        member.isAllowed(identity, { verb: asked, type, namespace: inNamespace, name: named }),
      );
      answers.set(key, may);
    }
    return await visibleBy(may, verb, type, namespace, name);
  };
  return {
    user,
    token: tokenOf(user.name),
    pick,
    sees,
    may: (verb, type, { cluster, namespace, name }) =>
      members.find((each) => each.name === cluster)!.isAllowed(identity, { verb, type, namespace, name }),
    seen: async (verb, type) => {
      const found: Row[] = [];
      for (const row of rows.get(type)!) if (await sees(verb, type, row)) found.push(row);
      return found;
    },
  };
}
