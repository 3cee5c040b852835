// Every command of docs/how-to/operate-the-index.md, word for word as the page has it, on two gateways over one real
// PostgreSQL and real members: what an operator sees, moves, reads anew, backs up and restores, and how an index in
// SQLite serves until the one in the database is whole.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { stringify } from 'yaml';

import { startControlPlane } from '../../../controlplane/fixture.ts';
import type { ControlPlane } from '../../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../../gateway-process.ts';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import {
  needsPostgres,
  postgresPrograms,
  startPostgresServer,
  type PostgresServer,
} from '../../../site/postgres.fixture.ts';
import { ask } from '../../kubectl/kubectl-as.ts';

const run = promisify(execFile);
const root = new URL('../../../../', import.meta.url).pathname;
const program = join(root, 'bin/portcullis.mjs');
const page = readFileSync(join(root, 'docs/how-to/operate-the-index.md'), 'utf8');
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const configMaps = '/api/v1/namespaces/team-a/configmaps';
const carol = { name: 'carol', groups: ['operators'], token: 'carol-at-the-gateway' };
const bob = { name: 'bob', groups: [], token: 'bob-at-the-gateway' };
const members = ['m1', 'm2', 'm3'];

/** Commands of the page that a test has run. */
const tried = new Set<string>();
let plane: ControlPlane;
let server: PostgresServer;
let database: string;
let rules: string;
let gateways: GatewayProcess[] = [];

before(async () => {
  if (needsPostgres.skip !== false) return;
  [server, plane] = await Promise.all([
    startPostgresServer(),
    startControlPlane({ members, bare: members, audit: false }),
  ]);
  database = await server.createDatabase('fleet');
  const generate = ['generate', 'member-access', '--index', '--index-resources', 'configmaps'];
  const account = ['--gateway-service-account', 'portcullis/gateway'];
  const { stdout: access } = await run(process.execPath, [program, ...generate, ...account]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    await make(member.name, 'first');
  }
  rules = join(plane.dir, 'rules.yaml');
  writeFileSync(rules, rulesOfPage(), { mode: 0o600 });
  const bin = join(plane.dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'portcullis'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'portcullis'), 0o755);
  for (const _ of [1, 2]) gateways.push(await start(database));
});

after(async () => {
  for (const gateway of gateways) await gateway.stop('SIGKILL');
  await plane?.stop();
  await server?.stop();
});

/** The rules of the page for carol, and everything else that a user needs for both. */
function rulesOfPage(): string {
  const snippet = /```yaml\nrules:\n([\s\S]*?)```/.exec(page)![1]!;
  const operator = 'subjects: [{ kind: User, name: carol }]';
  const everybody = {
    subjects: [{ kind: 'Group', name: 'system:authenticated' }],
    verbs: ['get', 'list', 'watch'],
    apiGroups: ['', 'search.portcullis.io', 'gateway.portcullis.io'],
    resources: ['configmaps', 'indexes/proxy', 'clusters'],
    nonResourceURLs: ['*'],
  };
  const head = { apiVersion: 'gateway.portcullis.io/v1alpha1', kind: 'AuthorizationRules' };
  const list = stringify([everybody]).replace(/^/gm, '  ').trimEnd();
  return `${stringify(head)}rules:\n${snippet.replaceAll('  - apiGroups', `  - ${operator}\n    apiGroups`)}${list}\n`;
}

async function start(store: string | undefined, dataDir?: string): Promise<GatewayProcess> {
  return await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol, bob],
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(store === undefined ? {} : { config: { indexStore: store } }),
    args: ['--index-resources', 'configmaps', '--index-rights', 'rbac', '--authorization-rules', rules],
    env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' },
  });
}

async function make(member: string, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} };
  const { status, body } = await plane.member(member).request('POST', configMaps, object);
  assert.equal(status, 201, body);
}

/** Runs one command of the page as a person would, in a shell, at the first gateway or at another. */
async function sh(
  command: string,
  env: Readonly<Record<string, string>> = {},
  user = carol,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  assert.ok(commandsOfPage().includes(command), `the page has no such command: ${command}`);
  tried.add(command);
  const gateway = gateways[0];
  const kubeconfig = join(plane.dir, `${user.name}-${gateway?.port}.kubeconfig`);
  if (gateway !== undefined && !existsSync(kubeconfig)) {
    const to = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', user.token];
    await run(process.execPath, [program, 'kubeconfig', ...to, '--index', '--all', '--output', kubeconfig]);
  }
  const path = `${join(plane.dir, 'bin')}:${postgresPrograms()!}:${process.env['PATH']}`;
  const own = { PATH: path, HOME: plane.dir, KUBECONFIG: kubeconfig, INDEX_DATABASE: database };
  return await run('sh', ['-c', command], { cwd: plane.dir, env: { ...own, ...env } }).then(
    (done) => ({ code: 0, ...done }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** All lines of the page that are commands for a shell. */
function commandsOfPage(): readonly string[] {
  return [...page.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)]
    .flatMap(([, block]) => block!.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

interface IndexStatus {
  readonly store: { readonly kind: string; readonly name?: string };
  readonly whole: boolean;
  readonly replicas: readonly { readonly name: string; readonly shards: number; readonly clusters: number }[];
  readonly clusters: readonly {
    readonly cluster: string;
    readonly indexed: string;
    readonly objects: number;
    readonly replica?: string;
  }[];
}

/** The same as the command prints, without a process for each look. */
async function status(): Promise<IndexStatus> {
  const { status: code, body } = await ask(gateways[0]!, carol.token, 'GET', `${index}/status`);
  assert.equal(code, 200, body.toString());
  return JSON.parse(body.toString()) as IndexStatus;
}

async function follower(cluster: string): Promise<string | undefined> {
  return (await status()).clusters.find((each) => each.cluster === cluster)?.replica;
}

async function succeeds(command: string, env?: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await sh(command, env);
  assert.equal(code, 0, `${command}: ${stderr}`);
  return stdout;
}

async function rowsAt(gateway: GatewayProcess): Promise<readonly string[]> {
  const { status: code, body } = await ask(gateway, carol.token, 'GET', `${index}/proxy${configMaps}`);
  assert.equal(code, 200, body.toString());
  const { items } = JSON.parse(body.toString()) as {
    items: { metadata: { name: string; annotations: Record<string, string> } }[];
  };
  return items.map(({ metadata }) => `${metadata.annotations['shadow.clusterpedia.io/cluster-name']} ${metadata.name}`);
}

test('the status shows clusters, replicas and the database, to whom a rule allows it', needsPostgres, async () => {
  await succeeds('portcullis index status --wait');
  await eventually(
    'both replicas follow, and no cluster is on its way from one to the other',
    async () => {
      const { replicas, clusters } = await status();
      const isFollowed = clusters.every(({ replica }) => replica !== undefined);
      return replicas.length === 2 && isFollowed && replicas.every((each) => each.clusters > 0);
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  // While a cluster is on its way to another replica, none follows it.
  const text = await eventually(
    'each cluster is shown with its replica',
    async () => {
      const shown = await succeeds('portcullis index status');
      const rows = members.map((cluster) => new RegExp(`^${cluster} +Synced +\\d+ +[\\d.]+ +\\S+ [0-9a-f]{12}$`, 'm'));
      return rows.every((row) => row.test(shown)) && shown;
    },
    { timeoutMs: 60_000 },
  );
  assert.match(
    text,
    /^PostgreSQL 127\.0\.0\.1:\d+\/fleet as tester, tables of form \d+, last answered [\d.]+ s ago, log of \d+ minutes; \d+ objects; 3 of 3 clusters completely in the index$/m,
  );
  assert.match(text, /^REPLICA +SHARDS +CLUSTERS$/m);
  const { store, replicas } = await eventually(
    'each cluster is followed by one of the replicas',
    async () => {
      const printed = JSON.parse(await succeeds('portcullis index status -o json')) as IndexStatus;
      const followed = printed.replicas.reduce((sum, each) => sum + each.clusters, 0);
      const names = printed.replicas.map(({ name }) => name);
      return followed === 3 && printed.clusters.every(({ replica }) => names.includes(replica ?? '')) && printed;
    },
    { timeoutMs: 60_000 },
  );
  assert.equal(store.kind, 'PostgreSQL');
  assert.ok(!JSON.stringify(store).includes('secret'));
  const refused = await sh('portcullis index status', {}, bob);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /User "bob" cannot get resource "indexes\/status"/);
  assert.match(
    refused.stderr,
    /Ask the operator for a rule that allows get of indexes\/status in search\.portcullis\.io/,
  );
  const shards = /^portcullis_index_shards (\d+)$/m.exec(
    await (await fetch(`${gateways[0]!.opsUrl}/metrics`)).text(),
  )![1];
  assert.ok(replicas.some((each) => each.shards === Number(shards)));
});

test('a cluster that is moved stays with its replica, until the replicas may decide again', needsPostgres, async () => {
  const { replicas } = await status();
  const from = await follower('m1');
  const target = replicas.find(({ name }) => name !== from)!.name;
  const move = 'portcullis index move "$CLUSTER" --to "$REPLICA"';
  const said = await succeeds(move, { CLUSTER: 'm1', REPLICA: target });
  assert.match(
    said,
    new RegExp(`^Cluster "m1".* is followed by replica "${target}" from now on, until that one ends\\.\\n$`),
  );
  await eventually('another follows it', async () => (await follower('m1')) === target, { everyMs: 200 });
  // All three at one replica is more than its share; without a pin the next plan would give one back.
  for (const cluster of ['m2', 'm3']) await succeeds(move, { CLUSTER: cluster, REPLICA: target });
  await eventually(
    'all are at one',
    async () => {
      return (await status()).clusters.every(({ replica, indexed }) => replica === target && indexed === 'Synced');
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  await make('m1', 'after-the-move');
  await eventually('changes are followed', async () => (await rowsAt(gateways[1]!)).includes('m1 after-the-move'));
  assert.ok((await status()).clusters.every(({ replica }) => replica === target));
  for (const cluster of members) {
    const free = await succeeds('portcullis index move "$CLUSTER" --to any', { CLUSTER: cluster });
    assert.match(free, new RegExp(`^The replicas decide again who follows cluster "${cluster}"`));
  }
  await eventually(
    'the work is shared again',
    async () => {
      const { clusters } = await status();
      return new Set(clusters.map(({ replica }) => replica)).size === 2;
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  const nobody = await sh(move, { CLUSTER: 'm1', REPLICA: 'nobody' });
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /there is no replica "nobody" that could follow cluster "m1"/);
});

test('a cluster is read anew, whichever replica is asked and whichever follows it', needsPostgres, async () => {
  for (const cluster of members) {
    const said = await succeeds('portcullis index rebuild "$CLUSTER"', { CLUSTER: cluster });
    assert.match(
      said,
      new RegExp(`^The \\d+ objects of cluster "${cluster}" are dropped from the index and read anew`),
    );
  }
  await succeeds('portcullis index status --wait');
  await eventually('all rows are there', async () => {
    const rows = await rowsAt(gateways[0]!);
    return members.every((member) => rows.includes(`${member} first`));
  });
  const unknown = await sh('portcullis index rebuild "$CLUSTER"', { CLUSTER: 'gone' });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /cluster "gone" is not in the index/);
});

test('a backup is restored, and the clusters are followed from there', needsPostgres, async () => {
  const size = 'psql "$INDEX_DATABASE" -c ';
  const bytes = commandsOfPage().find((command) => command.startsWith(size) && command.includes('pg_size_pretty'))!;
  assert.match(await succeeds(bytes), /\d+ [kM]B/);
  await succeeds('pg_dump --format=custom --schema=portcullis --file=index.dump "$INDEX_DATABASE"');
  await make('m1', 'after-the-backup');
  await eventually('it is indexed', async () => (await rowsAt(gateways[0]!)).includes('m1 after-the-backup'));
  for (const gateway of gateways.splice(0)) await gateway.stop();
  await make('m2', 'while-away');
  await succeeds('psql "$INDEX_DATABASE" -c "DROP SCHEMA IF EXISTS portcullis CASCADE"');
  await succeeds('pg_restore --exit-on-error --no-owner --dbname="$INDEX_DATABASE" index.dump');
  gateways = [await start(database), await start(database)];
  await eventually(
    'rows are those of the clusters',
    async () => {
      const rows = await rowsAt(gateways[1]!);
      return ['m1 after-the-backup', 'm2 while-away', 'm3 first'].every((row) => rows.includes(row));
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  await succeeds('portcullis index status --wait');
});

test('a replica is replaced while the other answers', needsPostgres, async () => {
  const [old, other] = gateways as [GatewayProcess, GatewayProcess];
  const before = await rowsAt(other);
  assert.ok(before.includes('m3 first'));
  await old.stop();
  gateways = [other];
  assert.deepEqual(await rowsAt(other), before);
  gateways = [await start(database), other];
  await succeeds('portcullis index status --wait');
  assert.deepEqual(await rowsAt(gateways[0]!), before);
});

test('an index in SQLite serves until the one in the database is whole', needsPostgres, async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
  await succeeds('psql "$INDEX_DATABASE" -c "DROP SCHEMA IF EXISTS portcullis CASCADE"');
  const old = await start(undefined);
  gateways = [old];
  await succeeds('portcullis index status --wait');
  const { store } = JSON.parse(await succeeds('portcullis index status -o json')) as IndexStatus;
  assert.deepEqual(store, { kind: 'SQLite' });
  const rows = await rowsAt(old);
  assert.ok(rows.includes('m3 first'));
  const next = await start(database);
  try {
    const wait = commandsOfPage().find((command) => command.includes('--server "$NEW"'))!;
    const waiting = succeeds(wait, { NEW: next.url, NEW_CA: next.caFile, TOKEN: carol.token });
    assert.deepEqual(await rowsAt(old), rows);
    assert.match(await waiting, /^PostgreSQL .*3 of 3 clusters completely in the index$/m);
    assert.deepEqual(await rowsAt(next), rows);
    assert.deepEqual(await rowsAt(old), rows);
  } finally {
    await old.stop();
    gateways = [next];
  }
  const moved = await sh('portcullis index move "$CLUSTER" --to any', { CLUSTER: 'm1' });
  assert.equal(moved.code, 0, moved.stderr);
});

test('while the database is down the status says so', needsPostgres, async () => {
  await server.crash();
  const down = await sh('portcullis index status');
  assert.equal(down.code, 1);
  assert.match(down.stderr, /cannot answer now \(503\)/);
  await server.start();
  await eventually('it is back', async () => (await sh('portcullis index status')).code === 0, { timeoutMs: 60_000 });
});

test('the page has no command that was not tried', needsPostgres, () => {
  assert.deepEqual(
    commandsOfPage().filter((command) => !tried.has(command)),
    [],
  );
});
