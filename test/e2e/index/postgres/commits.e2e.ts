// The index in PostgreSQL as several processes share it: the order of commits, leases, the log, and a database that
// goes away. Each test has a database of its own on one real server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { Client } from 'pg';

import { eventually } from '../../../site/polling.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { rowWrite, typeInfo } from '../../../../store/conformance/model.fixture.ts';
import { FencedError } from '../../../../store/fenced-error.ts';
import { openDatabase } from '../../../../store/postgres/connection/database.ts';
import { PostgresLeases } from '../../../../store/postgres/leases/leases.ts';
import { Partitions } from '../../../../store/postgres/feed/partitions.ts';
import { shardOfIncarnation } from '../../../../store/postgres/connection/shard.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../../store/postgres/store.ts';
import type { IndexStore, WriteBatch } from '../../../../store/store.ts';

const pods = typeInfo('', 'pods');
const roles = typeInfo('rbac.authorization.k8s.io', 'roles');

let server: PostgresServer;
let url: string;
let databases = 0;
before(async () => {
  if (needsPostgres.skip !== false) return;
  server = await startPostgresServer();
});
after(() => server?.stop());
beforeEach(async () => {
  if (needsPostgres.skip !== false) return;
  url = await server.createDatabase(`commits_${databases++}`);
});

async function open(t: TestContext, options: Partial<PostgresStoreOptions> = {}): Promise<IndexStore> {
  const store = await openPostgresStore({ url, connections: 5, ...options });
  t.after(() => store.close());
  return store;
}

/** One row of a cluster; the same name again with another version is a change. */
function batchOf(cluster: string, name: string, version = 1, type = pods): WriteBatch {
  const incarnation = { id: `record-${cluster}/system`, cluster };
  const row = rowWrite({
    ...{ cluster, incarnation: incarnation.id, type, namespace: 'default', name, uid: `${cluster} ${name}` },
    ...{
      ownerUid: '',
      createdAtMs: 1000,
      resourceVersion: String(version),
      labels: { version: String(version) },
      rest: {},
    },
  });
  return { incarnation, type, upserts: [row], deletes: [] };
}

async function sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return ((await client.query(`SET search_path = portcullis; ${text}`)) as unknown as { rows: [] }[]).at(-1)!.rows;
  } finally {
    await client.end();
  }
}

test(
  'whoever sees a resourceVersion sees every change up to it, while three processes write',
  needsPostgres,
  async (t) => {
    const [one, two, three] = [await open(t), await open(t), await open(t)];
    const start = one!.resourceVersion();
    const writing = new AbortController();
    const write = async (store: IndexStore, name: string): Promise<void> => {
      for (let version = 1; version <= 40; version++) {
        await Promise.all(['a', 'b', 'c'].map((cluster) => store.apply(batchOf(`${name}-${cluster}`, 'web', version))));
      }
    };
    const seen: { readonly at: string; readonly entries: readonly string[] }[] = [];
    const watch = async (): Promise<void> => {
      while (!writing.signal.aborted) {
        const { resourceVersion: at } = await three!.readPoint();
        const entries = (await three!.changes(start, ['pods.'], 10_000)).map(({ resourceVersion }) => resourceVersion);
        seen.push({ at, entries: entries.filter((version) => version <= at) });
      }
    };
    const watching = watch();
    await Promise.all([write(one!, 'one'), write(two!, 'two')]);
    writing.abort();
    await watching;
    const all = (await three!.changes(start, ['pods.'], 10_000)).map(({ resourceVersion }) => resourceVersion);
    assert.equal(all.length, 2 * 3 * 40);
    assert.deepEqual(all, [...new Set(all)].toSorted());
    assert.ok(seen.length > 5);
    for (const { at, entries } of seen)
      assert.deepEqual(
        entries,
        all.filter((version) => version <= at),
      );
  },
);

test('a process is told of the commits of others, each time with what it can read', needsPostgres, async (t) => {
  const [one, two] = [await open(t), await open(t)];
  const reported: string[] = [];
  two!.onCommit((resourceVersion) => reported.push(resourceVersion));
  const { resourceVersion } = await one!.apply(batchOf('a', 'web'));
  await eventually('the commit of another process', () => reported.includes(resourceVersion));
  assert.equal(two!.resourceVersion(), resourceVersion);
  assert.equal(await two!.isInLog(resourceVersion), true);
});

test('changes of RBAC objects move the rights version, others do not', needsPostgres, async (t) => {
  const store = await open(t);
  await store.apply(batchOf('a', 'web'));
  assert.equal((await store.readPoint()).rightsVersion, '');
  const { resourceVersion } = await store.apply(batchOf('a', 'reader', 1, roles));
  await store.apply(batchOf('a', 'web', 2));
  const point = await store.readPoint();
  assert.equal(point.rightsVersion, resourceVersion);
  assert.ok(point.resourceVersion > resourceVersion);
});

test('of batches that are committed together only those of a lost lease fail', needsPostgres, async (t) => {
  const store = await open(t, { writers: 1 });
  const writerOf = (cluster: string) => ({ shard: shardOfIncarnation(`record-${cluster}/system`), epoch: 0 });
  await sql(`UPDATE shard SET epoch = 1, owner = 'other' WHERE id = ${writerOf('b').shard}`);
  const results = await Promise.allSettled(
    ['a', 'b', 'c'].map((cluster) => store.apply(batchOf(cluster, 'web'), writerOf(cluster))),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.ok((results[1] as PromiseRejectedResult).reason instanceof FencedError);
  const clusters = (await store.types()).map(({ incarnation }) => incarnation.cluster);
  assert.deepEqual(clusters.toSorted(), ['a', 'c']);
});

test(
  'who takes a shard waits for the commit under way, and nothing of the one before comes after',
  needsPostgres,
  async (t) => {
    const store = await open(t);
    const writer = { shard: shardOfIncarnation('record-a/system'), epoch: 0 };
    // The sequencer is held, so the write has passed the fence and waits.
    const holder = new Client({ connectionString: url });
    await holder.connect();
    t.after(() => holder.end());
    await holder.query('BEGIN; SELECT FROM portcullis.sequencer FOR UPDATE');
    const written = store.apply(batchOf('a', 'web'), writer);
    const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await eventually('a write that waits', async () => (await sql(waiting))[0]!['n'] === 1);
    const taken = sql(`UPDATE shard SET epoch = 1 WHERE id = ${writer.shard} RETURNING epoch`);
    await eventually('a takeover that waits', async () => (await sql(waiting))[0]!['n'] === 2);
    await holder.query('ROLLBACK');
    assert.equal((await written).written, 1);
    assert.equal((await taken).length, 1);
    await assert.rejects(store.apply(batchOf('a', 'web', 2), writer), FencedError);
  },
);

test(
  'what is older than the log is kept is dropped with its partitions, and a watch from there is told to list again',
  needsPostgres,
  async (t) => {
    const store = await open(t);
    const first = await store.apply(batchOf('a', 'web'));
    const second = await store.apply(batchOf('a', 'web', 2));
    const third = await store.apply(batchOf('a', 'api'));
    const database = await openDatabase({ url });
    t.after(() => database.close());
    const count = async (): Promise<number> =>
      Number((await sql(`SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'change'::regclass`))[0]!['n']);
    const before = await count();
    const keep = { keepMs: 3600_000, partitionMs: 600_000 };
    await new Partitions(database, keep).trim();
    assert.equal(await count(), before);
    assert.equal(await store.isInLog(first.resourceVersion), true);
    // An hour in the future everything so far is old.
    await sql(`UPDATE sequencer SET last = last + 2 * 3600000000; SELECT 1`);
    await new Partitions(database, keep).trim();
    assert.ok((await count()) < before);
    assert.equal(await store.oldestResourceVersion(), third.resourceVersion);
    assert.equal(await store.isInLog(second.resourceVersion), false);
    await assert.rejects(store.changes(first.resourceVersion, ['pods.'], 10), { code: 'EXPIRED' });
    assert.deepEqual(await store.changes(third.resourceVersion, ['pods.'], 10), []);
    // The partitions for now are gone or never were: the next write makes what it needs.
    const next = await store.apply(batchOf('a', 'web', 3));
    const [entry] = await store.changes(third.resourceVersion, ['pods.'], 10);
    assert.equal(entry!.resourceVersion, next.resourceVersion);
    assert.match(String(entry!.before), /"version":"2"/);
  },
);

test(
  'while the database is away every method says so, and once it is back all goes on by itself',
  needsPostgres,
  async (t) => {
    const own = await startPostgresServer({ settings: { fsync: 'on' } });
    t.after(() => own.stop());
    const store = await openPostgresStore({ url: own.url });
    t.after(() => store.close());
    const kept = await store.apply(batchOf('a', 'web'));
    await own.crash();
    const isAway = { code: 'INDEX_UNAVAILABLE' };
    await assert.rejects(store.apply(batchOf('a', 'web', 2)), isAway);
    await assert.rejects(store.forget('record-a/system'), isAway);
    await assert.rejects(store.types(), isAway);
    await assert.rejects(store.readPoint(), isAway);
    await assert.rejects(store.changes(kept.resourceVersion, ['pods.'], 1), isAway);
    await assert.rejects(store.isInLog(kept.resourceVersion), isAway);
    await own.start();
    assert.equal((await store.readPoint()).resourceVersion, kept.resourceVersion);
    const next = await store.apply(batchOf('a', 'web', 2));
    const [entry] = await store.changes(kept.resourceVersion, ['pods.'], 10);
    assert.equal(entry!.resourceVersion, next.resourceVersion);
  },
);

test(
  'tables of a newer program and a schema of somebody else are refused and left as they are',
  needsPostgres,
  async () => {
    await (await openPostgresStore({ url })).close();
    await sql('UPDATE form SET number = 99; SELECT 1');
    await assert.rejects(openPostgresStore({ url }), /written by a newer version/);
    assert.deepEqual(await sql('SELECT number FROM form'), [{ number: 99 }]);
    await sql('CREATE SCHEMA other; CREATE TABLE other.obj (a int); INSERT INTO other.obj VALUES (7)');
    await assert.rejects(openPostgresStore({ url, schema: 'other' }), /tables of somebody else/);
    assert.deepEqual(await sql('SELECT * FROM other.obj'), [{ a: 7 }]);
  },
);

test('processes that start at once make the tables once', needsPostgres, async (t) => {
  const stores = await Promise.all([1, 2, 3].map(() => open(t)));
  assert.equal(new Set(stores.map(({ id }) => id)).size, 1);
  await Promise.all(stores.map((store, i) => store.apply(batchOf(`c${i}`, 'web'))));
  assert.equal((await stores[0]!.types()).length, 3);
});

test(
  'a process that stops in the middle of a transaction keeps the others from planning for seconds, not for ever',
  { ...needsPostgres, timeout: 60_000 },
  async (t) => {
    await open(t);
    const [stopped, other] = await Promise.all([
      openDatabase({ url, connections: 1, statementTimeoutMs: 3000 }),
      openDatabase({ url, connections: 1 }),
    ]);
    t.after(() => other.close());
    const held = Promise.withResolvers<void>();
    // As a process does that was stopped here: it sends nothing more, and does not close its connection.
    const ended = assert.rejects(
      stopped.transaction(async (client) => {
        await client.query('SELECT 1 FROM planner WHERE one FOR UPDATE');
        held.resolve();
        await once(client, 'error');
      }),
    );
    await held.promise;
    const leases = new PostgresLeases(other, { acknowledged: () => new Map() });
    const plan = (): Promise<boolean> => leases.plan(() => []);
    assert.equal(await plan(), false, 'nobody else plans meanwhile');
    await eventually('another process plans', plan);
    await ended;
    await stopped.close();
  },
);
