// Three replicas over one PostgreSQL, and random users who put each question to a random one of them: every list and
// page has the rows that the members themselves let the user see, and no other, before and after rights have changed.
// INDEX_RIGHTS_USERS (100), INDEX_RIGHTS_MEMBERS (2) and INDEX_RIGHTS_SEED choose size and world.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { outgoingUser } from '../../../../auth/rules/impersonation.ts';
import { makeUser, type User } from '../../../../model/user.ts';
import { startControlPlane, type ControlPlane } from '../../../controlplane/fixture.ts';
import { startGatewayProcess, type GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { ask } from '../../kubectl/kubectl-as.ts';
import { inParallel, makeRightsMember, type RightsMember } from '../index-rights-member.ts';
import { remembering, rowVerbs, visibleBy } from '../index-rights-oracle.ts';
import { aggregationSettled, fillMember, rightsTypes } from '../index-rights-site.ts';
import { makePick, pickingFor, randomRbac, randomUsers, worldTypes, type WorldType } from '../index-rights-world.ts';

const run = promisify(execFile);
const program = new URL('../../../../bin/portcullis.mjs', import.meta.url).pathname;
const userCount = Number(process.env['INDEX_RIGHTS_USERS'] ?? 100);
const memberCount = Number(process.env['INDEX_RIGHTS_MEMBERS'] ?? 2);
const seed = Number(process.env['INDEX_RIGHTS_SEED'] ?? 13);
const pickFor = pickingFor(seed);
const base = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
// A token file has neither extra nor a hub.
const users = randomUsers(makePick(seed), userCount).map(({ name, uid, groups }) => makeUser({ name, uid, groups }));
const root = { name: 'root', groups: ['system:masters'], token: 'root-at-the-gateway' };

let plane: ControlPlane;
let server: PostgresServer;
let members: readonly RightsMember[] = [];
const replicas: GatewayProcess[] = [];

before(async () => {
  if (needsPostgres.skip !== false) return;
  const names = Array.from({ length: memberCount }, (_, index) => `m${index}`);
  const options = { members: names, controllerManager: true, scheduler: false, audit: false };
  [server, plane] = await Promise.all([startPostgresServer(), startControlPlane(options)]);
  members = plane.members.map(makeRightsMember);
  await Promise.all(members.map((member) => fillMember(member, users, pickFor(member.name))));
  const resources = worldTypes.map(({ group, resource }) => (group === '' ? resource : `${resource}.${group}`)).join();
  const access = ['generate', 'member-access', '--index', '--index-resources', resources];
  const { stdout } = await run(process.execPath, [
    program,
    ...access,
    '--gateway-service-account',
    'portcullis/gateway',
  ]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: stdout });
    assert.equal(applied.code, 0, applied.stderr);
  }
  const database = await server.createDatabase('fleet');
  const dataDir = mkdtempSync(join(plane.dir, 'replicas-'));
  for (let count = 0; count < 3; count += 1) {
    const replica = await startGatewayProcess({
      kubeconfigs: [plane.gatewayKubeconfig],
      users: [...users.map(({ name, uid, groups }) => ({ name, uid, groups, token: tokenOf(name) })), root],
      dataDir,
      env: { PORTCULLIS_INDEX_STORE: database },
      args: ['--index-resources', resources],
    });
    replicas.push(replica);
  }
  await settled();
});

after(async () => {
  for (const replica of replicas) await replica.stop('SIGKILL');
  for (const member of members) member.close();
  await plane?.stop();
  await server?.stop();
});

function tokenOf(name: string): string {
  return `${name.replaceAll(':', '-')}-at-the-gateway`;
}

function pathOf({ group, version, resource }: WorldType): string {
  return `${base}/proxy${group === '' ? `/api/${version}` : `/apis/${group}/${version}`}/${resource}`;
}

/** Resolves when every replica has the members' objects. */
async function settled(): Promise<void> {
  for (const replica of replicas) {
    for (const type of worldTypes) {
      await eventually(
        `${type.resource} are those of the members`,
        async () => {
          const there = (await Promise.all(members.map((member) => member.list(type)))).flat();
          const { body } = await ask(replica, root.token, 'GET', pathOf(type));
          const { items = [] } = JSON.parse(body.toString('utf8')) as { items?: typeof there };
          const uidsOf = (some: typeof there): string =>
            some
              .map(({ metadata }) => metadata.uid)
              .toSorted()
              .join();
          return uidsOf(items) === uidsOf(there);
        },
        { timeoutMs: 90_000, everyMs: 100 },
      );
    }
  }
}

/** All pages of a list, each asked of a random replica. */
async function listed(user: User, type: WorldType, limit: number): Promise<readonly string[]> {
  const found: string[] = [];
  let token = '';
  do {
    const replica = replicas[Math.floor(Math.random() * replicas.length)]!;
    const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const { status, body } = await ask(replica, tokenOf(user.name), 'GET', `${pathOf(type)}?limit=${limit}${more}`);
    const text = body.toString('utf8');
    assert.equal(status, 200, text);
    const page = JSON.parse(text) as {
      metadata: { continue?: string };
      items: { metadata: { name: string; namespace?: string; annotations: Record<string, string> } }[];
    };
    for (const { metadata } of page.items) {
      found.push(`${metadata.annotations[clusterAnnotation]}/${metadata.namespace ?? ''}/${metadata.name}`);
    }
    token = page.metadata.continue ?? '';
  } while (token !== '');
  return found.toSorted();
}

/** What the members let the user list. */
async function allowed(user: User, type: WorldType): Promise<readonly string[]> {
  const identity = outgoingUser(user);
  const found: string[] = [];
  for (const member of members) {
    const may = remembering((verb, namespace, name) => member.isAllowed(identity, { verb, type, namespace, name }));
    for (const { metadata } of await member.list(type)) {
      const { namespace = '', name } = metadata;
      if (await visibleBy(may, rowVerbs[0]!, type, namespace, name)) found.push(`${member.name}/${namespace}/${name}`);
    }
  }
  return found.toSorted();
}

/** Compares for these users, all types. @returns how many rows are visible */
async function compare(some: readonly User[]): Promise<number> {
  const faults: string[] = [];
  let visible = 0;
  await inParallel(
    some,
    async (user) => {
      for (const type of worldTypes) {
        const [have, wanted] = [await listed(user, type, pickFor(user.name)([3, 500])), await allowed(user, type)];
        visible += wanted.length;
        if (have.join() !== wanted.join()) {
          faults.push(
            `${user.name} ${user.groups.join()} ${type.resource}: ${have.join()} in place of ${wanted.join()}`,
          );
        }
      }
    },
    6,
  );
  assert.equal(faults.length, 0, `${faults.length} lists differ with seed ${seed}:\n${faults.slice(0, 5).join('\n')}`);
  return visible;
}

const howMany = `${userCount} random users`;
test(`at a random replica, ${howMany} list what the members let them see`, needsPostgres, async (t) => {
  const visible = await compare(users);
  assert.ok(visible > 0);
  t.diagnostic(`${visible} rows visible, 0 differences`);
});

test('after rights were given and taken away, each replica knows it', needsPostgres, async (t) => {
  for (const member of members) {
    const pick = pickFor(member.name, 'second');
    const more = randomRbac(pick, users, 'second');
    await member.make(more.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole'));
    await member.make(more.filter(({ kind }) => kind.endsWith('Binding') && pick([true, false])));
    const bindings = [...(await member.list(rightsTypes[1]!)), ...(await member.list(rightsTypes[3]!))];
    const gone = bindings.filter(({ metadata }) => metadata.name.startsWith('first-') && pick([true, false]));
    await member.remove(
      gone.map(({ metadata: { name, namespace } }) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
        metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      })),
    );
    await aggregationSettled(member);
  }
  const some = users.filter((_, index) => index % 4 === 0);
  // A changed right counts within two seconds at any replica; until then the first who ask may see the former one.
  let visible = 0;
  await eventually('rights have come through', async () => (visible = await compare(some)) > 0, { timeoutMs: 60_000 });
  t.diagnostic(`${some.length} users after changes, ${visible} rows visible, 0 differences`);
});
