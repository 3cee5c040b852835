// Gateways with their index in a real PostgreSQL, on real members: what kubectl sees, what one gateway gives and
// another goes on from, and what happens to the door and to the index while the database is in trouble.
// Landing tier: gateways that share an index in PostgreSQL.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startControlPlane } from '../../../controlplane/fixture.ts';
import type { ControlPlane } from '../../../controlplane/fixture.ts';
import { freePort } from '../../../controlplane/processes.ts';
import { startGatewayProcess } from '../../../gateway-process.ts';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { openRaw, requestBytes } from '../../../site/raw-client.ts';

const run = promisify(execFile);
const program = new URL('../../../../bin/portcullis.mjs', import.meta.url).pathname;
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const configMaps = '/api/v1/namespaces/team-a/configmaps';
const list = `${index}/proxy${configMaps}`;
const door = `/clusters/m1/proxy${configMaps}`;
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };
const password = 'secret of the index';
/** Ends all connections of the gateways. */
const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fleet'";
let plane: ControlPlane;
let server: PostgresServer;
/** Two gateways over one database. */
let gateways: GatewayProcess[] = [];
const ends: (() => unknown)[] = [];

before(async () => {
  if (needsPostgres.skip !== false) return;
  [server, plane] = await Promise.all([
    startPostgresServer({ hba: ['host all refused 127.0.0.1/32 reject'] }),
    startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false }),
  ]);
  await server.run(`CREATE ROLE fleet LOGIN PASSWORD '${password}'`);
  await server.run("CREATE ROLE guest LOGIN PASSWORD 'guest'");
  await server.run('CREATE DATABASE fleet OWNER fleet');
  const access = ['generate', 'member-access', '--index', '--index-resources', 'configmaps'];
  const account = ['--gateway-service-account', 'portcullis/gateway'];
  const { stdout } = await run(process.execPath, [program, ...access, ...account]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: stdout });
    assert.equal(applied.code, 0, applied.stderr);
  }
  for (const name of ['one', 'two', 'three']) for (const member of ['m1', 'm2']) await make(member, name);
  for (const _ of [1, 2]) gateways.push(await start({ indexStore: url() }));
  for (const gateway of gateways) await eventually('the index is whole', () => isWhole(gateway), { timeoutMs: 60_000 });
});

after(async () => {
  for (const end of ends) await end();
  for (const gateway of gateways) await gateway.stop('SIGKILL');
  await plane?.stop();
  await server?.stop();
});

function url({ user = 'fleet', secret = password, database = 'fleet', port = server.port } = {}): string {
  return `postgres://${user}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${database}`;
}

async function start(config: Readonly<Record<string, unknown>>, ...args: string[]): Promise<GatewayProcess> {
  return await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    config,
    args: ['--index-resources', 'configmaps', '--index-rights', 'rbac', ...args],
    env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' },
  });
}

async function make(member: string, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} };
  const { status, body } = await plane.member(member).request('POST', configMaps, object);
  assert.equal(status, 201, body);
}

interface Answer {
  readonly status: number;
  readonly json: any;
  readonly text: string;
  readonly warnings: readonly string[];
}

async function get(gateway: GatewayProcess, path: string): Promise<Answer> {
  const client = await openRaw({ port: gateway.port, ca: gateway.caPem });
  try {
    client.send(requestBytes(`GET ${path}`, [`Authorization: Bearer ${carol.token}`]));
    const answer = await client.answer();
    const json = answer.body.startsWith('{') && !answer.body.includes('\n{') ? JSON.parse(answer.body) : undefined;
    return { status: answer.status, json, text: answer.body, warnings: answer.values('warning') };
  } finally {
    client.close();
  }
}

async function isWhole(gateway: GatewayProcess): Promise<boolean> {
  const { json } = await get(gateway, `${index}/freshness`);
  return (
    json.clusters?.length === 2 &&
    json.clusters.every(
      ({ resources }: { resources: { whole: boolean }[] }) =>
        resources.length > 0 && resources.every(({ whole }) => whole),
    )
  );
}

async function namesAt(gateway: GatewayProcess): Promise<readonly string[]> {
  const { status, json, text } = await get(gateway, list);
  assert.equal(status, 200, text);
  return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

async function ready(gateway: GatewayProcess): Promise<string> {
  return await (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
}

/** The line about the index of readyz, once it matches. */
async function says(gateway: GatewayProcess, pattern: RegExp): Promise<string> {
  return await eventually(`readyz says ${pattern}`, async () => {
    const line = (await ready(gateway)).split('\n').find((one) => one.includes(']index '));
    return line !== undefined && pattern.test(line) ? line : undefined;
  });
}

/** Open watches on the index of a gateway. */
async function watchers(gateway: GatewayProcess): Promise<number> {
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
  return Number(/^portcullis_index_watchers (\d+)$/m.exec(metrics)![1]);
}

/** Watches with a real kubectl: the names it has printed so far. */
async function watch(gateway: GatewayProcess): Promise<readonly string[]> {
  const kubeconfig = join(plane.dir, `index-${gateway.port}.kubeconfig`);
  const to = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...to, '--all', '--index', '--output', kubeconfig]);
  const args = ['--kubeconfig', kubeconfig, '--context', 'portcullis-all', '--namespace', 'team-a'];
  const env = { PATH: process.env['PATH'], HOME: plane.dir };
  const kubectl = plane.binaries['kubectl']!;
  const { stdout } = await run(kubectl, [...args, 'get', 'configmaps', '-o', 'name'], { env });
  const there = stdout.trim().split('\n').length;
  const open = await watchers(gateway);
  const child = spawn(kubectl, [...args, 'get', 'configmaps', '--watch', '-o', 'name'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  ends.push(() => child.kill('SIGKILL'));
  const seen: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => seen.push(line.replace('configmap/', '')));
  // kubectl lists first, and asks for the watch after it has printed.
  await eventually('it watches', async () => seen.length === there && (await watchers(gateway)) > open);
  seen.splice(0);
  return seen;
}

/** Nothing of a gateway may show a password. */
function assertSecret(gateway: GatewayProcess, text: string): void {
  assert.doesNotMatch(`${gateway.log()}${text}`, /secret of the index|secret%20of%20the%20index/);
}

test(
  'real kubectl lists and watches what is in the database, and metrics and readyz tell of it',
  needsPostgres,
  async () => {
    const [gateway] = gateways;
    const seen = await watch(gateway!);
    await make('m1', 'four');
    await eventually('the watch tells of it', () => seen.includes('four'));
    assert.equal((await namesAt(gateway!)).filter((name) => /^(?:one|two|three|four)$/.test(name)).length, 7);
    const line = await says(gateway!, /database 127\.0\.0\.1:\d+\/fleet as fleet: answered/);
    assert.match(line, /tables of form \d+, log of \d+ minutes/);
    const metrics = await (await fetch(`${gateway!.opsUrl}/metrics`)).text();
    assert.match(metrics, /^portcullis_index_database_up 1$/m);
    assert.match(metrics, /^portcullis_index_commits_total [1-9]/m);
    assert.match(metrics, /^portcullis_index_sequencer_seconds_total 0?\.?\d/m);
    assert.match(metrics, /^portcullis_index_database_connections\{state="idle"\} \d/m);
    assert.match(metrics, /^portcullis_index_log_age_seconds \d/m);
    assertSecret(gateway!, `${line}${metrics}`);
  },
);

test('a continue token and a watch position of one gateway go on at the other', needsPostgres, async () => {
  const [one, other] = gateways as [GatewayProcess, GatewayProcess];
  const first = await get(one, `${list}?limit=2`);
  assert.equal(first.json.items.length, 2);
  const rest = await get(other, `${list}?continue=${encodeURIComponent(first.json.metadata.continue)}`);
  assert.equal(rest.status, 200, rest.text);
  assert.equal(2 + rest.json.items.length, (await namesAt(one)).length);
  const { resourceVersion } = (await get(one, list)).json.metadata;
  await make('m2', 'five');
  await eventually('the other has it', async () => (await namesAt(other)).includes('five'));
  const events = await get(other, `${list}?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=1`);
  assert.equal(events.status, 200, events.text);
  assert.match(events.text, /"type":"ADDED".*"name":"five"/);
  assert.doesNotMatch(events.text, /"type":"ERROR"/);
});

test(
  'the database crashes: the door stays open, the index says 503, and both watch and list go on once it is back',
  needsPostgres,
  async () => {
    const [gateway] = gateways as [GatewayProcess];
    const seen = await watch(gateway);
    await server.crash();
    await says(gateway, /the database of the index (?:is not reachable|has cut|is being stopped|has crashed)/);
    assert.match(await (await fetch(`${gateway.opsUrl}/metrics`)).text(), /^portcullis_index_database_up 0$/m);
    assert.equal((await get(gateway, door)).status, 200);
    const { status, json } = await get(gateway, list);
    assert.equal(status, 503);
    assert.match(json.message, /the database of the index/);
    assert.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 200);
    await make('m1', 'while-away');
    await server.start();
    await says(gateway, /: answered/);
    await eventually('what was made meanwhile is there', async () => (await namesAt(gateway)).includes('while-away'), {
      timeoutMs: 60_000,
    });
    await eventually('the watch tells of it', () => seen.includes('while-away'), { timeoutMs: 60_000 });
  },
);

test('all connections are cut: questions go on at once, and changes arrive', needsPostgres, async () => {
  const [gateway] = gateways as [GatewayProcess];
  await server.run(cut);
  assert.equal((await get(gateway, door)).status, 200);
  await eventually('lists answer', async () => (await get(gateway, list)).status === 200);
  await make('m2', 'after-the-cut');
  await eventually('a change arrives', async () => (await namesAt(gateway)).includes('after-the-cut'), {
    timeoutMs: 60_000,
  });
});

test(
  'a database that has become read-only still answers, with a warning, and takes changes when it may again',
  needsPostgres,
  async () => {
    const [gateway] = gateways as [GatewayProcess];
    await server.run('ALTER ROLE fleet SET default_transaction_read_only = on');
    try {
      await server.run(cut);
      await eventually('lists answer', async () => (await get(gateway, list)).status === 200);
      await make('m1', 'not-written-yet');
      const shown = (member: string): RegExp =>
        new RegExp(`${member}: configmaps shown as of .* ago: the database of the index is read-only, as a standby is`);
      for (const each of gateways)
        await eventually(
          'it warns of every cluster, whichever gateway follows it and whether it has changed or not',
          async () => {
            const { status, warnings } = await get(each, list);
            return status === 200 && ['m1', 'm2'].every((member) => shown(member).test(warnings.join()));
          },
          { timeoutMs: 60_000 },
        );
      assert.equal((await get(gateway, door)).status, 200);
    } finally {
      await server.run('ALTER ROLE fleet RESET default_transaction_read_only');
      await server.run(cut);
    }
    await eventually('it is written', async () => (await namesAt(gateway)).includes('not-written-yet'), {
      timeoutMs: 60_000,
    });
  },
);

test(
  'what keeps an index from its database at the start is said by serve and by check, and the door is open',
  needsPostgres,
  async () => {
    await server.run('CREATE DATABASE empty');
    await server.run('CREATE DATABASE foreign_tables OWNER fleet');
    await server.run('CREATE DATABASE newer OWNER fleet');
    await runAs('foreign_tables', 'CREATE SCHEMA portcullis; CREATE TABLE portcullis.theirs (x int)');
    await runAs(
      'newer',
      `CREATE SCHEMA portcullis; CREATE TABLE portcullis.form (number int);
    COMMENT ON TABLE portcullis.form IS 'index of Portcullis'; INSERT INTO portcullis.form VALUES (999)`,
    );
    const cases: readonly (readonly [string, RegExp])[] = [
      [url({ secret: 'wrong' }), /refuses the password: give the right one/],
      [url({ user: 'guest', secret: 'guest', database: 'empty' }), /does not give this user the rights: GRANT CREATE/],
      [url({ database: 'nothing' }), /has no database of this name/],
      [url({ port: await freePort() }), /is not reachable, nothing listens there/],
      [url({ database: 'foreign_tables' }), /with tables of somebody else: name another schema/],
      [url({ database: 'newer' }), /written by a newer version of this program \(its schema version is 999/],
    ];
    for (const [indexStore, message] of cases) {
      await using gateway = await start({ indexStore });
      const line = await says(gateway, message);
      const { status, json } = await get(gateway, list);
      assert.equal(status, 503);
      assert.match(json.message, message);
      assert.equal((await get(gateway, door)).status, 200);
      const checked = await check(indexStore);
      assert.equal(checked.code, 2, checked.said);
      assert.match(checked.said, message);
      assertSecret(gateway, `${line}${json.message}${checked.said}`);
    }
  },
);

test('a gateway whose database appears later uses it without being restarted', needsPostgres, async () => {
  await using gateway = await start({ indexStore: url({ database: 'later' }) });
  await says(gateway, /has no database of this name/);
  await server.run('CREATE DATABASE later OWNER fleet');
  await says(gateway, /: answered/);
  await eventually('it is whole', () => isWhole(gateway), { timeoutMs: 60_000 });
});

test('check leaves the database as it is', needsPostgres, async () => {
  await server.run('CREATE DATABASE untouched OWNER fleet');
  const { said } = await check(url({ database: 'untouched' }));
  assert.doesNotMatch(said, /the database of the index/);
  const [row] = await runAs('untouched', "SELECT count(*)::int AS n FROM pg_namespace WHERE nspname = 'portcullis'");
  assert.deepEqual(row, { n: 0 });
});

test('a gateway ends in order while its database is away', needsPostgres, async () => {
  const gateway = await start({ indexStore: url() });
  await eventually('it is whole', () => isWhole(gateway), { timeoutMs: 60_000 });
  await server.crash();
  assert.equal(await gateway.stop('SIGTERM'), 0);
  await server.start();
});

/** Runs `portcullis check` with a database. */
async function check(indexStore: string): Promise<{ readonly code: number; readonly said: string }> {
  const file = join(plane.dir, 'check.yaml');
  const tokens = join(plane.dir, 'check-tokens.csv');
  writeFileSync(tokens, 'a-token-of-some-length,carol,,\n', { mode: 0o600 });
  writeFileSync(file, JSON.stringify({ indexStore, kubeconfig: plane.gatewayKubeconfig, tokenAuthFile: tokens }));
  const done = await run(process.execPath, [program, 'check', '--config', file]).catch(
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
  return { code: 'code' in done ? done.code : 0, said: `${done.stdout}${done.stderr}` };
}

/** Runs a statement in a database of its own. */
async function runAs(database: string, sql: string): Promise<readonly object[]> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url({ database }) });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows as readonly object[];
  } finally {
    await client.end();
  }
}
