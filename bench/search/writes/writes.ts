// `npm run bench -- search --store postgres --only writes`: how fast the index in PostgreSQL writes first lists and
// changes of existing rows while several processes write at the same time, how long a commit waits for the sequencer (a
// row that every commit with changes locks in its last step), and what limits the speed. It starts a PostgreSQL server
// of its own, which writes commits to disk.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { openPostgresStore } from '../../../store/postgres/store.ts';
import { startPostgresServer, type PostgresServer } from '../../../test/site/postgres.fixture.ts';
import { cpuSecondsBetween, readCpu } from '../../figures/accounting.ts';
import { quantile } from '../../figures/statistics.ts';
import { clusterBatches } from '../batches.ts';
import { objectsPerCluster } from '../generator.ts';
import { openServerView, statementSettings, type ServerView } from './server-view.ts';
import type { Result, Task } from './writer.ts';

export interface WritesOptions {
  /** Clusters of generated objects that are stored before rows are changed. */
  readonly clusters: number;
  /** Processes that change rows at the same time. */
  readonly writers: number;
  /** Seconds for which each batch size is measured. */
  readonly seconds: number;
  /**
   * Whether to print the time that the server spends on each statement. Counting this costs the server time as well.
   */
  readonly statements: boolean;
}

type Print = (line: string) => void;

const settings = {
  fsync: 'on',
  shared_buffers: '2GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  wal_compression: 'lz4',
} as const;

const sizesOfBatches = [1, 10, 100];
const loadedAtOnce = 8;
const clustersOfWriter = 4;
/**
 * The limit: in the best of the measured settings, at least this many changed rows per second must be written, unless
 * the machine has no CPU time left.
 */
const leastRate = 10_000;
/**
 * The limit: p99 in milliseconds of a commit's wait for the lock of the sequencer, unless the machine has no CPU time
 * left.
 */
const mostWaitMs = 20;
/** The share of all CPU cores in use from which the machine counts as having no CPU time left. */
const fullShare = 0.9;

/** Runs the benchmark. @returns a line of text for each limit that does not hold */
export async function benchWrites(options: WritesOptions, print: Print): Promise<readonly string[]> {
  const server = await startPostgresServer({ settings: { ...settings, ...(options.statements && statementSettings) } });
  try {
    const url = await server.createDatabase('bench');
    const view = await openServerView(url);
    try {
      if (options.statements) await server.run('CREATE EXTENSION pg_stat_statements');
      await load(url, options.clusters, print);
      print(await view.sizes());
      const lines: Line[] = [];
      for (const rowsOfBatch of sizesOfBatches) {
        const line = await measure(server, url, view, { ...options, rowsOfBatch });
        print(line.text);
        lines.push(line);
        if (options.statements) for (const text of await view.statements(server)) print(`  ${text}`);
      }
      return failuresOf(lines);
    } finally {
      await view.close();
    }
  } finally {
    await server.stop();
  }
}

interface Line {
  readonly text: string;
  readonly rate: number;
  /** The p99 in milliseconds of a commit's wait for the lock of the sequencer. */
  readonly waitMs: number;
  /** The share of all CPU cores that was in use by any process of the machine, from 0 to 1. */
  readonly busy: number;
}

function failuresOf(lines: readonly Line[]): readonly string[] {
  const isFull = lines.some(({ busy }) => busy >= fullShare);
  const most = Math.max(...lines.map(({ rate }) => rate));
  const late = lines.filter(({ waitMs, busy }) => waitMs > mostWaitMs && busy < fullShare);
  return [
    ...(most < leastRate && !isFull ? [`at most ${Math.round(most)} rows/s, wanted ${leastRate}`] : []),
    ...late.map(({ text }) => `${text} (wanted ${mostWaitMs} ms)`),
  ];
}

async function load(url: string, clusters: number, print: Print): Promise<void> {
  const store = await openPostgresStore({ url, writers: 4 });
  let busyMs = 0;
  for (let at = 0; at < clusters; at += loadedAtOnce) {
    const some = Array.from({ length: Math.min(loadedAtOnce, clusters - at) }, (_, i) => clusterBatches(at + i));
    const startedMs = performance.now();
    // Each cluster sends its next batch when its last one is written; the clusters work at the same time.
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

async function measure(
  server: PostgresServer,
  url: string,
  view: ServerView,
  { clusters, rowsOfBatch, writers, seconds }: WritesOptions & { readonly rowsOfBatch: number },
): Promise<Line> {
  const children = await startWriters(url, { clusters, rowsOfBatch, writers, seconds });
  const commitsBefore = await view.commits();
  const watching = view.watch();
  const before = [server.pid, ...children.map(({ pid }) => pid!)].map(readCpu);
  for (const child of children) child.send('go');
  const results = await Promise.all(children.map(async (child) => ((await once(child, 'message')) as [Result])[0]));
  const [serverSeconds, ...others] = [server.pid, ...children.map(({ pid }) => pid!)].map((pid, i) =>
    cpuSecondsBetween(before[i]!, readCpu(pid)),
  );
  const { waitMs, states, busy } = await watching();
  const commits = (await view.commits()) - commitsBefore;
  for (const child of children) child.send('end');
  const rows = results.reduce((sum, result) => sum + result.rows, 0);
  const batchMs = results.flatMap((result) => result.batchMs);
  const writerSeconds = others.reduce((sum, one) => sum + one, 0);
  const cores = availableParallelism();
  const [ofServer, ofWriters] = [serverSeconds!, writerSeconds].map((cpu) => (cpu / seconds).toFixed(2));
  const text = [
    `changes, ${rowsOfBatch} a batch, ${writers} processes: ${Math.round(rows / seconds)} rows/s in ` +
      `${Math.round(commits / seconds)} transactions/s`,
    `a batch takes ${at(batchMs, 0.5)} ms, p99 ${at(batchMs, 0.99)}`,
    `CPU of a row ${((1000 * serverSeconds!) / rows).toFixed(3)} ms of the server and ` +
      `${((1000 * writerSeconds) / rows).toFixed(3)} ms of the processes`,
    `with all cores to themselves they would do ${Math.round((cores * rows) / (serverSeconds! + writerSeconds))} rows/s`,
    `the server used ${ofServer} of ${cores} cores, the processes ${ofWriters}, all programs ${(busy * cores).toFixed(2)}`,
    `connections were on average: ${states}`,
    `the sequencer is waited for ${at(waitMs, 0.5)} ms, p99 ${at(waitMs, 0.99)}`,
  ].join('; ');
  return { text, rate: rows / seconds, waitMs: quantile(waitMs, 0.99), busy };
}

/** Starts the writing processes. Resolves when all of them are ready. */
async function startWriters(
  url: string,
  { clusters, rowsOfBatch, writers, seconds }: Omit<WritesOptions, 'statements'> & { readonly rowsOfBatch: number },
): Promise<readonly ChildProcess[]> {
  const count = Math.max(1, Math.min(clustersOfWriter, Math.floor(clusters / writers)));
  const children = Array.from({ length: writers }, (_, writer) => {
    const own = Array.from({ length: count }, (_unused, i) => writer + i * writers);
    const child = fork(join(import.meta.dirname, 'writer.ts'));
    child.send({ url, clusters: own, rowsOfBatch, seconds } satisfies Task);
    return child;
  });
  await Promise.all(children.map((child) => once(child, 'message')));
  return children;
}

function at(values: readonly number[], q: number): string {
  return quantile(values, q).toFixed(2);
}
