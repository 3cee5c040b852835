// Several processes that follow members together, over one real PostgreSQL: each member is followed by one of them,
// also after one is killed, sleeps, joins or leaves, and after the database was away.
// Runs alone: another process has twenty seconds to take over.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { Client } from 'pg';

import { loadKubernetesSpec } from '../../../../sim/schema/spec.ts';
import { startSimulator, type Simulator } from '../../../../sim/server.ts';
import { allOf } from '../../../../query/list-query.ts';
import { openPostgresStore, type PostgresStore } from '../../../../store/postgres/store.ts';
import type { LogEntry } from '../../../../store/store.ts';
import type { ShardProcessOptions, ShardReport } from '../../../index/shard-process.ts';
import { eventually } from '../../../site/polling.ts';
import { startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { startLine, type Line } from '../../../site/line.fixture.ts';

const program = new URL('../../../index/shard-process.ts', import.meta.url).pathname;
const path = '/api/v1/namespaces/default/configmaps';
const configMaps = { group: '', resource: 'configmaps' };
/** What is left of a process that is gone must be taken over within this, milliseconds. */
const takeOverMs = 20_000;
const clusterCount = 16;
const names = Array.from({ length: clusterCount }, (_, i) => `c${i}`);

let server: PostgresServer;
/** To the database. */
let line: Line;
let url: string;
let store: PostgresStore;
const simulators: Simulator[] = [];
const engines = new Map<string, Engine>();

/** A process that follows. */
class Engine {
  readonly child: ChildProcess;
  report: ShardReport = { own: [], watched: [], clusters: [] };
  constructor(replica: string, of: readonly string[]) {
    const address = new URL(url);
    address.port = String(line.port);
    const options: ShardProcessOptions = {
      url: address.href,
      replica,
      resources: ['configmaps'],
      forgetAfterMs: 3_000,
      members: of.map((name) => {
        const { url, caPem, adminToken } = simulatorOf(name);
        return { name, url, caPem, token: adminToken };
      }),
    };
    this.child = fork(program, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.child.on('message', (report) => void (this.report = report as ShardReport));
  }

  static start(replica: string, of: readonly string[]): Engine {
    const engine = new Engine(replica, of);
    engines.set(replica, engine);
    return engine;
  }

  async end(how: 'close' | 'SIGKILL'): Promise<void> {
    for (const [name, engine] of engines) if (engine === this) engines.delete(name);
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    if (how === 'close') this.child.send('close');
    else this.child.kill('SIGKILL');
    await ended;
  }
}

before(async () => {
  server = await startPostgresServer();
  url = await server.createDatabase('shards');
  line = await startLine(server.port);
  store = await openPostgresStore({ url, connections: 3 });
  const spec = loadKubernetesSpec();
  for (let i = 0; i < 4; i += 1) simulators.push(await startSimulator({ spec, controllers: false }));
  for (const name of ['one', 'two', 'three']) for (const simulator of simulators) await put(simulator, name, '0');
  for (const replica of ['a', 'b', 'c']) Engine.start(replica, names);
  await allFollowed(60_000);
});

after(async () => {
  for (const engine of [...engines.values()]) {
    engine.child.kill('SIGCONT');
    await engine.end('SIGKILL');
  }
  await store?.close();
  line?.close();
  for (const simulator of simulators) await simulator.close();
  await server?.stop();
});

/** Four simulators stand for sixteen clusters: each record is another cluster for the index. */
function simulatorOf(name: string): Simulator {
  return simulators[Number(name.slice(1)) % simulators.length]!;
}

async function put(simulator: Simulator, name: string, value: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } };
  const made = await ask(simulator, 'POST', path, object);
  if (made === 409) assert.equal(await ask(simulator, 'PUT', `${path}/${name}`, object), 200);
  else assert.equal(made, 201);
}

async function ask(simulator: Simulator, method: string, at: string, object?: object): Promise<number> {
  return (await call(simulator, method, at, object)).status;
}

async function call(simulator: Simulator, method: string, at: string, object?: object) {
  const body = object === undefined ? undefined : JSON.stringify(object);
  return await new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${simulator.adminToken}`, 'content-type': 'application/json' };
    const sent = request(
      { host: '127.0.0.1', port: simulator.port, path: at, method, ca: simulator.caPem, headers, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
        answer.on('end', () => resolve({ status: answer.statusCode!, text: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on('error', reject).end(body);
  });
}

/** Resolves when each cluster is watched by one process, and by no other. */
async function allFollowed(timeoutMs: number): Promise<void> {
  await eventually(
    'each cluster is followed once',
    () => {
      const watched = [...engines.values()].flatMap(({ report }) => report.watched).sort();
      const own = [...engines.values()].flatMap(({ report }) => report.own).sort();
      return isSame(watched, names) && isSame(own, names);
    },
    { timeoutMs },
  );
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.join() === others.toSorted().join();
}

async function rows(): Promise<ReadonlyMap<string, string>> {
  const types = await store.types();
  const grants = new Map(
    types.map(({ incarnation }) => [incarnation.id, new Map([['configmaps.' as const, 'all' as const]])]),
  );
  const page = await store.list(allOf(configMaps), { grants, digest: JSON.stringify([...grants.keys()]) }, {});
  const found = new Map<string, string>();
  for await (const chunk of page.chunks) {
    for (const { cluster, namespace, name, raw } of chunk) found.set(`${cluster}/${namespace}/${name}`, versionIn(raw));
  }
  return found;
}

function versionIn(raw: Uint8Array): string {
  return (JSON.parse(Buffer.from(raw).toString()) as { metadata: { resourceVersion: string } }).metadata
    .resourceVersion;
}

/** Resolves when the index has what the members have, in their versions. */
async function equalsMembers(clusters: readonly string[] = names): Promise<void> {
  const lists = new Map<Simulator, readonly { readonly metadata: Readonly<Record<string, string>> }[]>();
  for (const simulator of simulators) {
    const { text } = await call(simulator, 'GET', '/api/v1/configmaps');
    lists.set(simulator, (JSON.parse(text) as { items: { metadata: Record<string, string> }[] }).items);
  }
  const members = new Map(
    clusters.flatMap((name) =>
      lists
        .get(simulatorOf(name))!
        .map(({ metadata }) => [`${name}/${metadata['namespace']}/${metadata['name']}`, metadata['resourceVersion']]),
    ),
  );
  const order = (map: ReadonlyMap<string, unknown>) => JSON.stringify([...map].sort());
  await eventually('the index equals the members', async () => order(await rows()) === order(members), {
    timeoutMs: 30_000,
    everyMs: 200,
  });
}

/** No object was added twice, and none went back to an earlier version. @returns the entries */
async function assertLog(since: string): Promise<readonly LogEntry[]> {
  const entries = await store.changes(since, ['configmaps.'], 100_000);
  const newest = new Map<string, number>();
  for (const { cluster, name, uid, before, after } of entries) {
    const key = `${cluster}/${name}/${uid}`;
    const was = newest.get(key);
    if (before === undefined) assert.equal(was, undefined, `${key} was added twice`);
    const version = after === undefined ? Number.POSITIVE_INFINITY : Number(versionIn(after));
    assert.ok(was === undefined || version > was, `${key} went back from ${was} to ${version}`);
    newest.set(key, version);
  }
  return entries;
}

async function sql<Row>(text: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return ((await client.query(`SET search_path = portcullis; ${text}`)) as unknown as { rows: Row[] }[]).at(-1)!.rows;
  } finally {
    await client.end();
  }
}

function mostOwning(): Engine {
  return [...engines.values()].toSorted((one, other) => other.report.own.length - one.report.own.length)[0]!;
}

test('each cluster is followed by one process, and every process says of all how up to date they are', async () => {
  await equalsMembers();
  for (const { report } of engines.values()) assert.ok(report.own.length >= 2, `${report.own.length} clusters`);
  await eventually('every process knows all ages', () =>
    [...engines.values()].every(({ report: { clusters } }) =>
      clusters.every(({ fault, ageMs }) => fault === undefined && ageMs !== undefined && ageMs >= 0 && ageMs < 90_000),
    ),
  );
});

test('what a killed process followed is taken over within 20 s; until then the others say so, and nothing is lost or doubled', async (t) => {
  const since = store.resourceVersion();
  const victim = mostOwning();
  const orphans = victim.report.own;
  for (const simulator of simulators) await put(simulator, 'before', '1');
  const killedAtMs = performance.now();
  await victim.end('SIGKILL');
  for (const simulator of simulators) for (const value of ['1', '2']) await put(simulator, 'during', value);
  const others = [...engines.values()];
  const unsaid = new Set(others.flatMap((_, i) => orphans.map((name) => `${i} ${name}`)));
  await eventually('each of the others says of each cluster that nobody follows it', () => {
    for (const [i, { report }] of others.entries()) {
      for (const { name, fault } of report.clusters) {
        if (/no process .* follows/.test(fault ?? '')) unsaid.delete(`${i} ${name}`);
      }
    }
    return unsaid.size === 0;
  });
  await allFollowed(takeOverMs - (performance.now() - killedAtMs));
  t.diagnostic(`taken over after ${Math.round(performance.now() - killedAtMs)} ms`);
  await equalsMembers();
  const entries = await assertLog(since);
  const added = entries.filter(({ before }) => before === undefined).map(({ cluster, name }) => `${cluster} ${name}`);
  assert.deepEqual(added.toSorted(), names.flatMap((name) => [`${name} before`, `${name} during`]).toSorted());
  await eventually('nobody says so any more', () =>
    others.every(({ report }) => report.clusters.every(({ fault }) => fault === undefined)),
  );
});

test('a process that slept longer than its leases writes nothing late, and follows again what it is given', async () => {
  const since = store.resourceVersion();
  const sleeper = mostOwning();
  const epochs = await sql<{ readonly id: number; readonly epoch: string }>(
    "SELECT id, epoch FROM shard WHERE owner <> '' ORDER BY id",
  );
  sleeper.child.kill('SIGSTOP');
  // Its sockets take the events, which it reads when it wakes up.
  for (const simulator of simulators) await put(simulator, 'slept', '1');
  const [other] = [...engines.values()].filter((each) => each !== sleeper);
  await eventually('the other follows all', () => isSame(other!.report.watched.toSorted(), names), {
    timeoutMs: takeOverMs + 5_000,
  });
  for (const simulator of simulators) await put(simulator, 'slept', '2');
  await equalsMembers();
  const taken = await sql<{ readonly id: number; readonly epoch: string }>(
    "SELECT id, epoch FROM shard WHERE owner <> '' ORDER BY id",
  );
  assert.ok(taken.some(({ epoch }, i) => epoch !== epochs[i]!.epoch));
  sleeper.child.kill('SIGCONT');
  await eventually('it has noticed', () => sleeper.report.own.every((name) => !other!.report.own.includes(name)));
  await allFollowed(60_000);
  await equalsMembers();
  await assertLog(since);
});

test('when the database is away, all stop before their leases end, and go on when it is back', async () => {
  const since = store.resourceVersion();
  const cutAtMs = performance.now();
  line.cut();
  const following = new Map(engines);
  await eventually(
    'nobody follows anything',
    async () => {
      for (const [replica, { report }] of following) {
        if (report.own.length > 0) continue;
        following.delete(replica);
        const text = `SELECT until > clock_timestamp() AS holds FROM replica WHERE name = '${replica}'`;
        assert.deepEqual(await sql(text), [{ holds: true }], `${replica} stopped after its leases`);
      }
      return following.size === 0;
    },
    { timeoutMs: 20_000 },
  );
  for (const simulator of simulators) await put(simulator, 'away', '1');
  await delay(20_000 - (performance.now() - cutAtMs));
  line.open();
  await allFollowed(40_000);
  await equalsMembers();
  await assertLog(since);
});

test('a process that joins gets its share by at most four moves in ten seconds, and one that leaves gives all back', async (t) => {
  const since = store.resourceVersion();
  const joined = Engine.start('joined', names);
  let most = 0;
  let total = 0;
  const look = async (): Promise<boolean> => {
    const [row] = await sql<{ readonly late: number }>(
      "SELECT count(*)::int4 AS late FROM shard WHERE moved > clock_timestamp() - interval '10 s'",
    );
    most = Math.max(most, row!.late);
    total = joined.report.own.length;
    return total >= 4;
  };
  await eventually('it has its share', look, { timeoutMs: 60_000, everyMs: 100 });
  assert.ok(most > 0 && most <= 4, `${most} moves`);
  await allFollowed(30_000);
  t.diagnostic(`${total} shards moved, at most ${most} in 10 s`);
  const leaving = performance.now();
  await joined.end('close');
  await allFollowed(takeOverMs);
  t.diagnostic(`what it left is followed after ${Math.round(performance.now() - leaving)} ms`);
  await equalsMembers();
  await assertLog(since);
});

test('rows of a cluster are kept while any process knows it, and forgotten when none does', async () => {
  const [gone, ...rest] = names;
  const first = [...engines.values()];
  const second = Engine.start('fewer', rest);
  await eventually('it knows the others', () => second.report.clusters.length === rest.length);
  await allFollowed(60_000);
  await delay(8_000);
  await equalsMembers();
  for (const engine of first) await engine.end('close');
  await eventually(
    'the rows are gone',
    async () => ![...(await rows()).keys()].some((key) => key.startsWith(`${gone}/`)),
    {
      timeoutMs: 40_000,
      everyMs: 200,
    },
  );
  await equalsMembers(rest);
});
