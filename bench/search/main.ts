// `npm run bench -- search`: compares the index with Clusterpedia's database schema on PostgreSQL, first the stores
// alone, then over HTTP, with the same objects and queries. Everything runs one after the other on one machine, whose
// speed is not known. So only ratios of times have limits, and milliseconds are printed.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { openSqliteStore, type SqliteStore } from '../../store/sqlite/store.ts';
import type { PageRequest } from '../../store/store.ts';
import { median } from '../figures/statistics.ts';
import { batchesOf, incarnationId } from './batches.ts';
import { benchFleet } from './fleet.ts';
import { clusterObjects, objectsPerCluster, type GeneratedObject } from './generator.ts';
import { benchHttp, benchHttpAgainst, benchHttpOnPostgres } from './http/http.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { newest, pods, questions, type Question } from './questions.ts';
import { benchUsers } from './users.ts';
import { benchWrites } from './writes/writes.ts';

export const searchUsage = `npm run bench -- search [options]
  --clusters N    clusters of ${objectsPerCluster} objects, default 20; 200 for the figures of the documentation
  --rounds N      runs of each question at least, default 3
  --only LEVEL    store, fleet or http, with --store postgres: writes or http; default all
  --store NAME    sqlite or postgres, default sqlite
  --writers N     with --only writes: processes that write at the same time, default 4
  --seconds N     with --only writes: seconds for each size of batches, default 20
  --against DIR   with --only http: compare CPU times with the gateway of another checkout instead
  --statements    with --only writes: print what the server spends on each statement
  --keep-going    print what does not hold, and end with 0 all the same`;

/** Objects per second that the store must at least take on average while it is filled. */
const leastRate = 3000;
/**
 * Number of clusters in the smaller store. A page from all clusters may need at most `mostGrowth` times the CPU time of
 * a page from this store.
 */
const smallClusters = 20;
const mostGrowth = 1.3;
const batchesInFlight = 16;

/**
 * Runs the benchmark of the index.
 * @returns the exit code: 0 when every limit holds, or with --keep-going; otherwise 1
 */
export async function benchSearch(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      clusters: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      store: { type: 'string', default: 'sqlite' },
      writers: { type: 'string', default: '4' },
      seconds: { type: 'string', default: '20' },
      against: { type: 'string' },
      statements: { type: 'boolean', default: false },
      'keep-going': { type: 'boolean', default: false },
    },
  });
  const clusters = Number(values.clusters);
  const rounds = Number(values.rounds);
  const isAsked = (level: string): boolean => values.only === undefined || values.only === level;
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-search-'));
  // PostgreSQL runs as another user and must be able to enter the folder.
  chmodSync(directory, 0o711);
  try {
    if (values.against !== undefined) {
      const failures = await benchHttpAgainst(directory, resolve(values.against), rounds, print);
      return outcome(failures, values['keep-going']);
    }
    if (values.store === 'postgres') {
      const written = { clusters, writers: Number(values.writers), seconds: Number(values.seconds) };
      const failures = [
        ...(isAsked('writes') ? await benchWrites({ ...written, statements: values.statements }, print) : []),
        ...(isAsked('http') ? await benchHttpOnPostgres(directory, clusters, rounds, print) : []),
      ];
      return outcome(failures, values['keep-going']);
    }
    const failures = [
      ...(isAsked('store') ? await benchStore(directory, clusters, rounds) : []),
      ...(isAsked('fleet') ? await benchFleet(directory, print) : []),
      ...(isAsked('http') ? await benchHttp(directory, rounds, print) : []),
    ];
    return outcome(failures, values['keep-going']);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Prints a line for each limit that does not hold.
 * @returns the exit code: 1 when a limit does not hold, unless `keepGoing` is true
 */
function outcome(failures: readonly string[], keepGoing: boolean): number {
  for (const failure of failures) print(`does not hold: ${failure}`);
  return failures.length === 0 || keepGoing ? 0 : 1;
}

/**
 * Compares the SQLite store with Clusterpedia's schema on PostgreSQL, without HTTP.
 * @returns a line of text for each query for which a limit does not hold
 */
async function benchStore(directory: string, clusters: number, rounds: number): Promise<readonly string[]> {
  const postgres = await startPostgres(join(directory, 'postgres'));
  const store = await openSqliteStore({ directory: join(directory, 'index') });
  try {
    const failures: string[] = [];
    const { rate, owner, pod } = await load(store, clusters);
    if (clusters > 2 * smallClusters) {
      const { texts, isGrown } = await pages(directory, store, clusters);
      for (const text of texts) print(text);
      if (isGrown) failures.push(texts[0]!);
    }
    print(
      `${clusters * objectsPerCluster} objects written at ${Math.round(rate)}/s on average (generating them not counted)`,
    );
    if (rate < leastRate) failures.push(`the load: ${Math.round(rate)}/s, wanted ${leastRate}/s`);
    failures.push(...(await benchUsers(join(directory, 'index', 'index.db'), clusters, incarnationId, print)));
    await postgres.load({ clusters }, print);
    print(`rival: Clusterpedia's schema on PostgreSQL ${postgres.version}`);
    const scope = wholeScope(clusters);
    for (const question of questions(owner, pod)) {
      const line = await compare(store, scope, postgres, question, rounds);
      print(line.text);
      if (!line.holds) failures.push(line.text);
    }
    print(`largest memory of this process, threads and generator included: ${peakMemory()}`);
    return failures;
  } finally {
    await store.close();
    await postgres.stop();
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Loaded {
  readonly rate: number;
  /** UID of a Deployment of the first cluster; `pod` is a pod of the same cluster. */
  readonly owner: string;
  readonly pod: GeneratedObject;
}

const pageRounds = 20;
const pagesOfRound = 20;

/**
 * Measures how the CPU time of a page grows with the number of clusters, by reading pages with continue tokens
 * alternately from this store and from a smaller one. Only the default order of lists has a limit. Ordered by creation
 * time, the rows of a page are scattered over the file, and only the smaller store fits into the page cache; this
 * result is printed to show what memory costs.
 */
async function pages(
  directory: string,
  store: SqliteStore,
  clusters: number,
): Promise<{ readonly texts: readonly string[]; readonly isGrown: boolean }> {
  const smallStore = await openSqliteStore({ directory: join(directory, 'small') });
  try {
    await load(smallStore, smallClusters);
    const compared = async (what: string, query: ListQuery): Promise<{ growth: number; text: string }> => {
      const some = walkOf(smallStore, query, wholeScope(smallClusters));
      const all = walkOf(store, query, wholeScope(clusters));
      for (let round = 0; round < 2 * pageRounds; round++) {
        for (const walk of [some, all]) await walk.round(round >= pageRounds);
      }
      const growth = median(all.spentMs.map((ms, at) => ms / some.spentMs[at]!));
      const [ms, smallMs] = [all, some].map(({ spentMs }) => median(spentMs).toFixed(2));
      const text = `${what}: CPU ${ms} ms, ${growth.toFixed(2)} times that at ${smallClusters} clusters, ${smallMs} ms`;
      return { growth, text };
    };
    const checked = await compared('a page by token', pods);
    const { text } = await compared('by creation and token', newest);
    return { texts: [`${checked.text} (wanted ${mostGrowth})`, text], isGrown: checked.growth > mostGrowth };
  } finally {
    await smallStore.close();
  }
}

/**
 * Returns a function that reads a round of pages, and the list to which each timed round adds its mean CPU time per
 * page in milliseconds.
 */
function walkOf(store: SqliteStore, query: ListQuery, scope: RowScope) {
  const spentMs: number[] = [];
  let after: PageRequest['after'];
  const round = async (isTimed: boolean): Promise<void> => {
    const before = process.cpuUsage();
    for (let at = 0; at < pagesOfRound; at++) {
      const page = await store.list(query, scope, { limit: 50, ...(after === undefined ? {} : { after }) });
      for await (const chunk of page.chunks) if (chunk.length === 0) break;
      page.release?.();
      after = page.next;
    }
    const { user, system } = process.cpuUsage(before);
    if (isTimed) spentMs.push((user + system) / 1000 / pagesOfRound);
  };
  return { spentMs, round };
}

async function load(store: SqliteStore, clusters: number): Promise<Loaded> {
  let busyMs = 0;
  let owner = '';
  let pod: GeneratedObject | undefined;
  const inFlight: Promise<unknown>[] = [];
  const timed = async (work: () => Promise<unknown>): Promise<void> => {
    const startedMs = performance.now();
    await work();
    busyMs += performance.now() - startedMs;
  };
  for (let index = 0; index < clusters; index++) {
    const objects = [...clusterObjects(index)];
    owner ||= objects.find(({ kind }) => kind === 'Deployment')!.uid;
    pod ??= objects.find(({ kind }) => kind === 'Pod');
    // All writes of the previous cluster have ended here, so the time for generating objects is not counted as time for
    // writing.
    await timed(async () => {
      for (const batch of batchesOf(index, objects)) {
        inFlight.push(store.apply(batch));
        if (inFlight.length >= batchesInFlight) await inFlight.shift();
      }
      await Promise.all(inFlight.splice(0));
    });
    if ((index + 1) % 20 === 0) print(`the store has ${index + 1} clusters`);
  }
  return { rate: (clusters * objectsPerCluster) / (busyMs / 1000), owner, pod: pod! };
}

function wholeScope(clusters: number): RowScope {
  const types = new Map([['pods.', 'all' as const] as const, ['replicasets.apps', 'all' as const] as const]);
  const grants = new Map(Array.from({ length: clusters }, (_, index) => [incarnationId(index), types]));
  // A store recognises a scope (the rows a user may see) by its digest.
  return { digest: `all of ${clusters} clusters`, grants };
}

interface Line {
  readonly text: string;
  readonly holds: boolean;
}

async function compare(
  store: SqliteStore,
  scope: RowScope,
  postgres: Postgres,
  question: Question,
  rounds: number,
): Promise<Line> {
  const { name, sql, atLeast } = question;
  const found = await askStore(store, scope, question);
  const theirs =
    question.ask === 'count'
      ? Number(postgres.value(sql))
      : Number(postgres.value(`SELECT count(*) FROM (${sql}) rows`));
  const askOnce = async (): Promise<number> => {
    const startedMs = performance.now();
    await askStore(store, scope, question);
    return performance.now() - startedMs;
  };
  const ours: number[] = [];
  const rival: number[] = [];
  for (const untilMs = performance.now() + warmMs; performance.now() < untilMs;) await askOnce();
  const runs = runsOf(await askOnce(), rounds);
  await postgres.time(sql, Math.ceil(warmMs / (await postgres.time(sql, 2))[1]!));
  const rivalRuns = runsOf((await postgres.time(sql, 2))[1]!, rounds);
  // The two stores are measured alternately in several parts, because the machine may be slower for some seconds.
  const pieces = Math.min(runs, rivalRuns) < leastInPieces ? 1 : mostPieces;
  for (let piece = 0; piece < pieces; piece++) {
    for (let left = Math.ceil(runs / pieces); left > 0; left--) ours.push(await askOnce());
    rival.push(...(await postgres.time(sql, Math.ceil(rivalRuns / pieces))));
  }
  const ratio = median(rival) / median(ours);
  const holds = found === theirs && ratio >= atLeast;
  const wanted = `wanted ${atLeast}`;
  const rows = found === theirs ? `${found} rows` : `${found} rows, the rival ${theirs}`;
  const times = `${median(ours).toFixed(2)} ms, rival ${median(rival).toFixed(2)} ms`;
  return { text: `${name}: ${rows}, ${times}: ${ratio.toFixed(1)} times (${wanted})`, holds };
}

/**
 * Returns how many times a query is run: about as often as fits into a second, but between `rounds` and `mostRuns`
 * times. For a slow query only the order of magnitude matters, so a few runs are enough.
 */
function runsOf(ms: number, rounds: number): number {
  return Math.max(rounds, Math.min(mostRuns, Math.ceil(runsForMs / ms)));
}

/**
 * Milliseconds for which each store answers a query before the query is measured. A query of half a millisecond then
 * runs some thousand times, after which V8 has compiled its code.
 */
const warmMs = 2000;
const mostPieces = 10;
/** Queries that run fewer times than this are slow, and are measured in one part instead of several. */
const leastInPieces = 50;
const mostRuns = 300;
const runsForMs = 1000;

/** Runs a query and reads every row of its result. @returns the number of rows, or the number that a count returned */
async function askStore(store: SqliteStore, scope: RowScope, { query, ask }: Question): Promise<number> {
  if (ask === 'count') return (await store.count(query, scope)).count;
  if ('facet' in ask) return (await store.facets(query, scope, ask.facet, 100_000)).counts.length;
  let rows = 0;
  const page = await store.list(query, scope, ask);
  for await (const chunk of page.chunks) rows += chunk.length;
  // The measured time includes the release of the page, since every answer of the index ends with it.
  page.release?.();
  return rows;
}

function peakMemory(): string {
  const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return kib === undefined ? 'unknown' : `${Math.round(Number(kib) / 1024)} MiB`;
}
