// `npm run bench -- search --store postgres --only writes`: how fast the index in PostgreSQL writes first lists and
// changes of existing rows while several processes write at the same time, how long a commit waits for the sequencer (a
// row that every commit with changes locks in its last step), and what limits the speed. The CPU time of a row is
// compared with that of a plain COPY and of Clusterpedia's writer. It starts a PostgreSQL server of its own, which
// writes commits to disk.
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
import { costText, measureBaselines, sumOf, type Baselines, type RowCost } from './baselines.ts';
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
/** The limit: in the best of the measured settings, at least this many changed rows per second must be written. */
const leastRate = 10_000;
/** The limit: p99 in milliseconds of a commit's wait for the lock of the sequencer. */
const mostWaitMs = 20;
/**
 * The two limits above are not judged where other programs use more than this share of all CPU cores: then they measure
 * those. What the server and the writers use themselves is no excuse.
 */
const mostOfOthers = 0.1;
/** The limit, always judged: CPU time of a row of a first list, divided by that of a plain COPY. */
const mostOfCopy = 3;
/**
 * The limit, always judged: CPU time of a changed row in batches of 100, divided by that of a row that Clusterpedia's
 * writer changes.
 */
const mostOfClusterpedia = 0.5;
const baselineClusters = 20;

/** Runs the benchmark. @returns a line of text for each limit that does not hold */
export async function benchWrites(options: WritesOptions, print: Print): Promise<readonly string[]> {
  const server = await startPostgresServer({ settings: { ...settings, ...(options.statements && statementSettings) } });
  try {
    const url = await server.createDatabase('bench');
    const view = await openServerView(url);
    try {
      if (options.statements) await server.run('CREATE EXTENSION pg_stat_statements');
      const listed = await load(server, url, options.clusters, print);
      print(await view.sizes());
      const lines: Line[] = [];
      for (const rowsOfBatch of sizesOfBatches) {
        const line = await measure(server, url, view, { ...options, rowsOfBatch });
        print(line.text);
        lines.push(line);
        if (options.statements) for (const text of await view.statements(server)) print(`  ${text}`);
      }
      const clusters = Math.min(options.clusters, baselineClusters);
      const baselines = await measureBaselines(server, { clusters, seconds: options.seconds }, print);
      print(baselines.text);
      return failuresOf(lines, listed, baselines);
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
  readonly cost: RowCost;
  /** The share of all CPU cores that programs other than the server and the writers used, from 0 to 1. */
  readonly others: number;
}

function failuresOf(lines: readonly Line[], listed: RowCost, baselines: Baselines): readonly string[] {
  const isDisturbed = lines.some(({ others }) => others > mostOfOthers);
  const most = Math.max(...lines.map(({ rate }) => rate));
  const late = lines.filter(({ waitMs, others }) => waitMs > mostWaitMs && others <= mostOfOthers);
  const ofCopy = sumOf(listed) / sumOf(baselines.copied);
  const ofClusterpedia = sumOf(lines.at(-1)!.cost) / sumOf(baselines.clusterpedia);
  const judged: readonly (readonly [failed: boolean, text: string])[] = [
    [most < leastRate && !isDisturbed, `at most ${Math.round(most)} rows/s, wanted ${leastRate}`],
    [ofCopy > mostOfCopy, `CPU of a first list ${ofCopy.toFixed(1)} times that of COPY, wanted ${mostOfCopy}`],
    [
      ofClusterpedia > mostOfClusterpedia,
      `CPU of a change ${ofClusterpedia.toFixed(2)} times that of Clusterpedia's, wanted ${mostOfClusterpedia}`,
    ],
  ];
  return [
    ...judged.filter(([failed]) => failed).map(([, text]) => text),
    ...late.map(({ text }) => `${text} (wanted ${mostWaitMs} ms)`),
  ];
}

/** Stores the first lists of all clusters. @returns the CPU time of a row, generating it not counted */
async function load(server: PostgresServer, url: string, clusters: number, print: Print): Promise<RowCost> {
  const store = await openPostgresStore({ url, writers: 4 });
  let busyMs = 0;
  let ownMs = 0;
  const before = readCpu(server.pid);
  for (let at = 0; at < clusters; at += loadedAtOnce) {
    const some = Array.from({ length: Math.min(loadedAtOnce, clusters - at) }, (_, i) => clusterBatches(at + i));
    const startedMs = performance.now();
    const own = process.cpuUsage();
    // Each cluster sends its next batch when its last one is written; the clusters work at the same time.
    await Promise.all(
      some.map(async (batches) => {
        for (const batch of batches) await store.apply(batch);
      }),
    );
    busyMs += performance.now() - startedMs;
    const { user, system } = process.cpuUsage(own);
    ownMs += (user + system) / 1000;
    if (at % 40 === 0) print(`${(at + some.length) * objectsPerCluster} rows, ${rate(at + some.length, busyMs)}/s`);
  }
  const serverMs = 1000 * cpuSecondsBetween(before, readCpu(server.pid));
  await store.close();
  const rows = clusters * objectsPerCluster;
  const cost = { serverMs: serverMs / rows, writersMs: ownMs / rows };
  print(
    `first lists: ${rows} rows at ${rate(clusters, busyMs)}/s, CPU of a row ${costText(cost)}, generating it not counted`,
  );
  return cost;
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
  const [serverSeconds, ...secondsOfWriters] = [server.pid, ...children.map(({ pid }) => pid!)].map((pid, i) =>
    cpuSecondsBetween(before[i]!, readCpu(pid)),
  );
  const { waitMs, states, busy } = await watching();
  const commits = (await view.commits()) - commitsBefore;
  for (const child of children) child.send('end');
  const rows = results.reduce((sum, result) => sum + result.rows, 0);
  const batchMs = results.flatMap((result) => result.batchMs);
  const writerSeconds = secondsOfWriters.reduce((sum, one) => sum + one, 0);
  const cores = availableParallelism();
  const cost = { serverMs: (1000 * serverSeconds!) / rows, writersMs: (1000 * writerSeconds) / rows };
  const [ofServer, ofWriters] = [serverSeconds!, writerSeconds].map((cpu) => (cpu / seconds).toFixed(2));
  const text = [
    `changes, ${rowsOfBatch} a batch, ${writers} processes: ${Math.round(rows / seconds)} rows/s in ` +
      `${Math.round(commits / seconds)} transactions/s`,
    `a batch takes ${at(batchMs, 0.5)} ms, p99 ${at(batchMs, 0.99)}`,
    `CPU of a row ${costText(cost)}`,
    `with all cores to themselves they would do ${Math.round((cores * rows) / (serverSeconds! + writerSeconds))} rows/s`,
    `the server used ${ofServer} of ${cores} cores, the processes ${ofWriters}, all programs ${(busy * cores).toFixed(2)}`,
    `connections were on average: ${states}`,
    `the sequencer is waited for ${at(waitMs, 0.5)} ms, p99 ${at(waitMs, 0.99)}`,
  ].join('; ');
  const others = busy - (serverSeconds! + writerSeconds) / seconds / cores;
  return { text, rate: rows / seconds, waitMs: quantile(waitMs, 0.99), cost, others };
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
