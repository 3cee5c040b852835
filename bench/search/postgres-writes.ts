// Run it with `node bench/search/postgres-writes.ts`. It measures how fast the index in PostgreSQL writes first lists
// and changes of existing rows, with several processes that write at the same time, and how long a commit waits for the
// sequencer. It starts a PostgreSQL server of its own, which writes commits to disk. Figures are only printed and not
// checked, because they depend on the machine.
import { fork } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';

import { openPostgresStore } from '../../search/stores/postgres/store.ts';
import type { IndexStore, WriteBatch } from '../../search/stores/store.ts';
import { startPostgresServer, type PostgresServer } from '../../test/site/postgres.fixture.ts';
import { quantile } from '../figures/statistics.ts';
import { batchesOf, clusterBatches } from './batches.ts';
import { clusterObjects, objectsPerCluster, type GeneratedObject } from './generator.ts';

const settings = {
  fsync: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  wal_compression: 'lz4',
} as const;

const statementSettings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
} as const;

/** How many batches a writing process sends at the same time, as if so many clusters had changes. */
const inFlight = 16;
const loadedAtOnce = 8;
const probeEveryMs = 20;

/** What a writing process has to do. */
interface Task {
  readonly url: string;
  readonly clusters: readonly number[];
  readonly rowsOfBatch: number;
  readonly seconds: number;
}

interface Result {
  readonly rows: number;
  /** CPU time of the writing process in milliseconds. */
  readonly cpuMs: number;
  readonly batchMs: readonly number[];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '1000000' },
      writers: { type: 'string', default: '4' },
      seconds: { type: 'string', default: '20' },
      batches: { type: 'string', default: '1,10,100' },
      statements: { type: 'boolean', default: false },
      async: { type: 'boolean', default: false },
    },
  });
  const clusters = Math.ceil(Number(values.rows) / objectsPerCluster);
  const server = await startPostgresServer({
    settings: {
      ...settings,
      ...(values.statements ? statementSettings : {}),
      ...(values.async ? { synchronous_commit: 'off' } : {}),
    },
  });
  try {
    const url = await server.createDatabase('bench');
    if (values.statements) await server.run('CREATE EXTENSION pg_stat_statements');
    await load(url, clusters);
    await sizes(url);
    if (values.statements) await printStatements(server, url);
    for (const rowsOfBatch of values.batches.split(',').map(Number)) {
      await measure(server, url, {
        clusters,
        rowsOfBatch,
        writers: Number(values.writers),
        seconds: Number(values.seconds),
      });
      if (values.statements) await printStatements(server, url);
    }
  } finally {
    await server.stop();
  }
}

/** What the server's time went into since it was last printed. */
async function printStatements(server: PostgresServer, url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const updates = await client.query<{ table: string; share: string }>(
    `SELECT split_part(relname, '_', 1) AS table, round(sum(n_tup_hot_upd) / sum(n_tup_upd), 2) AS share
    FROM pg_stat_user_tables WHERE n_tup_upd > 0 GROUP BY 1 ORDER BY 1`,
  );
  await client.end();
  print(`  of updates within their page: ${updates.rows.map(({ table, share }) => `${table} ${share}`).join(', ')}`);
  const rows = await server.run(`SELECT calls, rows, round(total_exec_time) AS exec, round(total_plan_time) AS plan,
    shared_blks_hit AS hit, shared_blks_dirtied AS dirtied, wal_bytes AS wal, left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS text
    FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 14`);
  for (const { calls, rows: of, exec, plan, hit, dirtied, wal, text } of rows)
    print(
      `  ${calls} calls, ${of} rows, ${exec} ms + ${plan} ms planning, ${hit} pages, ${dirtied} dirtied, WAL ${wal}: ${text}`,
    );
  await server.run('SELECT pg_stat_statements_reset()');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function load(url: string, clusters: number): Promise<void> {
  const store = await openPostgresStore({ url, writers: 4 });
  let busyMs = 0;
  for (let at = 0; at < clusters; at += loadedAtOnce) {
    const some = Array.from({ length: Math.min(loadedAtOnce, clusters - at) }, (_, i) => clusterBatches(at + i));
    const startedMs = performance.now();
    // Each cluster waits for its batch to be written before it sends the next one.
    await Promise.all(
      some.map(async (batches) => {
        for (const batch of batches) await store.apply(batch);
      }),
    );
    busyMs += performance.now() - startedMs;
    if (at % 40 === 0) print(`${(at + some.length) * objectsPerCluster} rows, ${rate(at + some.length, busyMs)}/s`);
  }
  await store.close();
  print(
    `first lists: ${clusters * objectsPerCluster} rows at ${rate(clusters, busyMs)}/s, generating them not counted`,
  );
}

function rate(clusters: number, ms: number): number {
  return Math.round((clusters * objectsPerCluster) / (ms / 1000));
}

async function sizes(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('VACUUM ANALYZE');
  const { rows } = await client.query<{ table: string; bytes: string }>(
    `SELECT split_part(c.relname, '_', 1) AS table, sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'portcullis' AND c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC`,
  );
  await client.end();
  print(rows.map(({ table, bytes }) => `${table} ${Math.round(Number(bytes) / 2 ** 20)} MiB`).join(', '));
}

async function measure(
  server: PostgresServer,
  url: string,
  options: { clusters: number; rowsOfBatch: number; writers: number; seconds: number },
): Promise<void> {
  const { clusters, rowsOfBatch, writers, seconds } = options;
  const tasks = Array.from({ length: writers }, (_, writer): Task => {
    const own = Array.from(
      { length: Math.min(4, Math.floor(clusters / writers)) },
      (_unused, i) => writer + i * writers,
    );
    return { url, clusters: own, rowsOfBatch, seconds };
  });
  const children = tasks.map((task) => {
    const child = fork(import.meta.filename, ['--child']);
    child.send(task);
    return child;
  });
  await Promise.all(children.map((child) => once(child, 'message')));
  const probing = new AbortController();
  const waits = probe(server.url.replace(/\/postgres$/, '/bench'), probing.signal);
  const commitsBefore = await commits(server);
  const cpuBefore = serverCpuMs(server.pid);
  for (const child of children) child.send('go');
  const results = await Promise.all(children.map(async (child) => ((await once(child, 'message')) as [Result])[0]));
  const cpuMs = serverCpuMs(server.pid) - cpuBefore;
  const commitCount = (await commits(server)) - commitsBefore;
  probing.abort();
  const waitMs = await waits;
  const rows = results.reduce((sum, result) => sum + result.rows, 0);
  const batchMs = results.flatMap((result) => result.batchMs);
  print(
    `changes, ${rowsOfBatch} a batch, ${writers} processes: ${Math.round(rows / seconds)} rows/s in ` +
      `${Math.round(commitCount / seconds)} transactions/s; a batch takes ${at(batchMs, 0.5)} ms, p99 ${at(batchMs, 0.99)}; ` +
      `CPU of a row ${(cpuMs / rows).toFixed(2)} ms of the server and ` +
      `${(results.reduce((sum, result) => sum + result.cpuMs, 0) / rows).toFixed(2)} ms of the processes; ` +
      `the sequencer is waited for ${at(waitMs, 0.5)} ms, p99 ${at(waitMs, 0.99)}`,
  );
}

function at(values: readonly number[], q: number): string {
  return quantile(values, q).toFixed(2);
}

async function commits(server: PostgresServer): Promise<number> {
  const [row] = await server.run(`SELECT xact_commit AS n FROM pg_stat_database WHERE datname = 'bench'`);
  return Number(row!['n']);
}

const tickMs = 10;

/** CPU time of all processes of the server in milliseconds, including those that have ended. */
function serverCpuMs(pid: number): number {
  const own = globSync('/proc/[0-9]*/stat').flatMap((file) => {
    // Processes may end while their files are read.
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const isServer = text.startsWith(`${pid} `);
    if (!isServer && fields[1] !== String(pid)) return [];
    // Fields 14 and 15 are utime and stime; 16 and 17 are those of ended children, which only the server's main process
    // has (proc(5)).
    return fields.slice(11, isServer ? 15 : 13).map(Number);
  });
  return own.reduce((sum, ticks) => sum + ticks, 0) * tickMs;
}

/** Locks the sequencer again and again while others write. @returns how long each lock took, in milliseconds */
async function probe(url: string, signal: AbortSignal): Promise<readonly number[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const waits: number[] = [];
  while (!signal.aborted) {
    await client.query('BEGIN');
    const startedMs = performance.now();
    await client.query('SELECT last FROM portcullis.sequencer WHERE one FOR UPDATE');
    waits.push(performance.now() - startedMs);
    await client.query('ROLLBACK');
    await delay(probeEveryMs);
  }
  await client.end();
  return waits;
}

/** All objects of a cluster in any order, as a watch brings changes. A list brings neighbours together. */
function changesOf(cluster: number, rowsOfBatch: number): readonly WriteBatch[] {
  const place = ({ uid }: GeneratedObject): string => hash('md5', uid);
  const objects = [...clusterObjects(cluster)].map((object) => ({ object, at: place(object) }));
  objects.sort((one, other) => (one.at < other.at ? -1 : 1));
  return batchesOf(
    cluster,
    objects.map(({ object }) => object),
    rowsOfBatch,
  );
}

/** The main function of a writing process: changes rows of its clusters until its time is over. */
async function write(task: Task, go: Promise<unknown>): Promise<void> {
  const store = await openPostgresStore({ url: task.url });
  const batches = task.clusters.flatMap((cluster) => changesOf(cluster, task.rowsOfBatch));
  // Some rounds before measuring: connections have to learn the tables, and V8 has to compile the code.
  for (let round = 0; round < 4; round++) {
    await Promise.all(batches.slice(0, inFlight).map((batch) => change(store, batch, -round)));
  }
  process.send!('ready');
  await go;
  const untilMs = performance.now() + task.seconds * 1000;
  const batchMs: number[] = [];
  let rows = 0;
  const cpu = process.cpuUsage();
  // Each follower changes objects that no other follower changes.
  const follow = async (follower: number): Promise<void> => {
    for (let turn = 1; ; turn++) {
      for (let next = follower; next < batches.length; next += inFlight) {
        if (performance.now() > untilMs) return;
        const startedMs = performance.now();
        const written = await change(store, batches[next]!, turn);
        // Not `rows += await`: that forgets what the other followers have added meanwhile.
        rows += written;
        batchMs.push(performance.now() - startedMs);
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, follower) => follow(follower)));
  const { user, system } = process.cpuUsage(cpu);
  process.send!({ rows, cpuMs: (user + system) / 1000, batchMs } satisfies Result);
  await store.close();
}

/** Writes the batch with another resourceVersion and a slightly longer body, as a change of an object's status does. */
async function change(store: IndexStore, batch: WriteBatch, turn: number): Promise<number> {
  const mark = `${process.pid}-${turn}-${Date.now()}`;
  const changed: WriteBatch = {
    ...batch,
    upserts: batch.upserts.map((row) => ({
      ...row,
      resourceVersion: String(2_000_000 + turn),
      raw: Buffer.concat([row.raw.subarray(0, -1), Buffer.from(`,"turn":"${mark}"}`)]),
    })),
    position: { resourceVersion: String(turn), confirmedAtMs: Date.now() },
  };
  return (await store.apply(changed)).written;
}

if (process.argv[2] === '--child') {
  const [task] = (await once(process, 'message')) as [Task];
  await write(task, once(process, 'message'));
  process.disconnect!();
} else {
  await main();
}
