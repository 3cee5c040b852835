// The index through a real PgBouncer: what every store keeps, what one replica tells another, and what becomes of
// writes when PgBouncer is killed.
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';

import { allOf } from '../../../../query/list-query.ts';
import { GatewayError } from '../../../../model/errors.ts';
import { conformance } from '../../../../store/conformance/conformance.fixture.ts';
import { Life, pods } from '../../../../store/conformance/lives.fixture.ts';
import { rowsOf } from '../../../../store/conformance/tested-store.fixture.ts';
import { shardOfIncarnation } from '../../../../store/postgres/connection/shard.ts';
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '../../../../store/postgres/store.ts';
import type { Page, PageRequest, ShardWriter } from '../../../../store/store.ts';
import { needsPgBouncer, startPgBouncer, type PgBouncer } from '../../../site/pgbouncer.fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { postgresStores } from '../../../site/postgres-store.fixture.ts';
import { startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';

/** Connections of each replica, beside the one that listens. */
const connections = 5;
/** In transaction mode far fewer than two replicas have, so that transactions go to another session each time. */
const poolSizes = { transaction: 4, session: 2 * (connections + 1) } as const;

for (const mode of ['transaction', 'session'] as const) {
  describe(`the index through PgBouncer in ${mode} mode`, needsPgBouncer, () => {
    let server: PostgresServer;
    let bouncer: PgBouncer;
    before(async () => {
      server = await startPostgresServer();
      bouncer = await startPgBouncer({ toPort: server.port, mode, poolSize: poolSizes[mode] });
    });
    after(async () => {
      await bouncer?.stop();
      await server?.stop();
    });
    const createDatabase = async (name: string): Promise<string> => bouncer.through(await server.createDatabase(name));

    // In session mode a replica has its sessions for itself, as without PgBouncer.
    if (mode === 'transaction')
      conformance(
        'PgBouncer',
        postgresStores(() => ({ run: server.run, createDatabase })),
      );

    test('two replicas have the same rows, counts and cursors, and either hears of what the other writes', async (t) => {
      const url = await createDatabase('replicas');
      const [one, two] = [await open(t, url), await open(t, url)];
      const life = new Life(1);
      const writer = await lease(server, 'replicas', life);
      const heard: string[] = [];
      two.onCommit((resourceVersion) => heard.push(resourceVersion));
      const start = two.resourceVersion();
      const names = Array.from({ length: 30 }, (_, i) => `pod-${String(i).padStart(2, '0')}`);
      // Together, so that they take as many sessions as there are.
      const questions = names.map(() => two.count(allOf(pods), life.scope));
      const writes = names.map((name) => one.apply(life.batch([life.row(name, 1)]), writer));
      const newest = (await Promise.all(writes)).at(-1)!.resourceVersion;
      await Promise.all(questions);
      await eventually('the other replica hears of the last change', () => heard.includes(newest));
      const told = await two.changes(start, ['pods.'], 100);
      assert.deepEqual(
        told.map(({ name }) => name),
        names,
      );
      const list = async (store: PostgresStore, page: PageRequest): Promise<Page & { readonly found: string[] }> => {
        const answer = await store.list(allOf(pods), life.scope, page);
        return { ...answer, found: (await rowsOf(answer)).map(({ name }) => name) };
      };
      for (const [first, second] of [[one, two] as const, [two, one] as const]) {
        const page = await list(first, { limit: 20, withRemaining: true });
        assert.deepEqual([page.found, page.remaining], [names.slice(0, 20), 10]);
        assert.deepEqual((await list(second, { after: page.next! })).found, names.slice(20));
        const { count, resourceVersion } = await first.count(allOf(pods), life.scope);
        assert.deepEqual([count, resourceVersion], [30, newest]);
        const { counts } = await first.facets(allOf(pods), life.scope, 'cluster', 10);
        assert.deepEqual(counts, [{ value: 'one', count: 30 }]);
      }
      const text = "SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE datname = 'replicas'";
      const [row] = await server.run(text);
      assert.ok(Number(row!['sessions']) <= poolSizes[mode], JSON.stringify(row));
    });

    test('PgBouncer is killed under writes: all that was acknowledged is kept, and replicas go on by themselves', async (t) => {
      const url = await createDatabase('killed');
      const [one, two] = [await open(t, url), await open(t, url)];
      const start = two.resourceVersion();
      const heard = new Set<string>();
      two.onCommit((resourceVersion) => heard.add(resourceVersion));
      const lives = Array.from({ length: 4 }, (_, i) => new Life(100 + i));
      const writers = await Promise.all(lives.map((life) => startWriting(one, server, life)));
      const sum = (what: 'acknowledged' | 'refused'): number =>
        writers.reduce((all, { counts }) => all + counts[what], 0);
      for (let round = 1; round <= 5; round++) {
        const [acknowledged, refused] = [sum('acknowledged'), sum('refused')];
        await eventually('writes are acknowledged', () => sum('acknowledged') > acknowledged + 40);
        await bouncer.crash();
        await eventually('writes are refused', () => sum('refused') > refused);
        await assert.rejects(two.readPoint(), { code: 'INDEX_UNAVAILABLE' });
        await bouncer.start();
      }
      const acknowledged = sum('acknowledged');
      await eventually('writes are acknowledged again', () => sum('acknowledged') > acknowledged + 40);
      const last = await Promise.all(writers.map(({ end }) => end()));
      await eventually('the other replica hears of the last change', () => heard.has(last.toSorted().at(-1)!));
      const log = await two.changes(start, ['pods.'], 100_000);
      for (const [i, life] of lives.entries()) {
        const versions = log
          .filter(({ incarnation }) => incarnation === life.incarnation.id)
          .map(({ after }) => versionOf(after!));
        // Each version was written until it was acknowledged: once, then, however often that was tried.
        assert.deepEqual(
          versions,
          Array.from({ length: writers[i]!.counts.acknowledged }, (_, n) => n + 1),
        );
        const rows = await rowsOf(await two.list(allOf(pods), life.scope, {}));
        assert.deepEqual(
          rows.map(({ raw }) => versionOf(raw)),
          [versions.at(-1)],
        );
      }
      t.diagnostic(`${sum('acknowledged')} writes acknowledged, ${sum('refused')} refused`);
    });

    test('what PgBouncer refuses is told with what to do, and a server that was away behind it is used again', async (t) => {
      const url = await createDatabase('refused');
      const refuses = async (change: Partial<URL>, message: RegExp): Promise<void> => {
        const { href } = Object.assign(new URL(url), change);
        await assert.rejects(openPostgresStore({ url: href }), { code: 'INDEX_UNAVAILABLE', message });
      };
      await refuses({ password: 'wrong' }, /refuses the password/);
      await refuses({ username: 'nobody' }, /refuses the password/);
      await refuses({ pathname: '/nothing' }, /has no database of this name/);
      // What PgBouncer keeps waiting for the server is given up after this and five seconds more.
      const store = await open(t, url, { statementTimeoutMs: 1000 });
      await server.crash();
      const isTold = (): boolean => /not reachable from its pooler: start it/.test(store.status().fault ?? '');
      await eventually('the store says what is wrong', isTold, { timeoutMs: 60_000 });
      await server.start();
      const answers = async (): Promise<boolean> => (await store.readPoint()).resourceVersion !== '';
      await eventually('the store answers again', answers, { timeoutMs: 60_000 });
    });
  });
}

async function open(t: TestContext, url: string, options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, connections, ...options });
  t.after(() => store.close());
  return store;
}

/** Takes the lease of an incarnation's shard, so that the database counts the writes. */
async function lease(server: PostgresServer, database: string, life: Life): Promise<ShardWriter> {
  const shard = shardOfIncarnation(life.incarnation.id);
  await server.run(`UPDATE portcullis.shard SET epoch = 1 WHERE id = ${shard}`, database);
  return { shard, epoch: 1 };
}

interface Writing {
  readonly counts: { acknowledged: number; refused: number };
  /** Ends after the next acknowledged write. @returns its resourceVersion */
  readonly end: () => Promise<string>;
}

/** Writes version after version of one row, as who follows a cluster does: each again until it is acknowledged. */
async function startWriting(store: PostgresStore, server: PostgresServer, life: Life): Promise<Writing> {
  const writer = await lease(server, 'killed', life);
  const counts = { acknowledged: 0, refused: 0 };
  let isEnding = false;
  const run = async (): Promise<string> => {
    for (;;) {
      try {
        const row = life.row('web', counts.acknowledged + 1);
        const { resourceVersion } = await store.apply(life.batch([row]), writer);
        counts.acknowledged += 1;
        if (isEnding) return resourceVersion;
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'INDEX_UNAVAILABLE') throw error;
        counts.refused += 1;
      }
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    counts,
    end: () => {
      isEnding = true;
      return running;
    },
  };
}

function versionOf(body: Uint8Array): number {
  return (JSON.parse(Buffer.from(body).toString()) as { readonly version: number }).version;
}
