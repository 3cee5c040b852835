// `npm run bench -- search`: the index against Clusterpedia's schema on PostgreSQL, the store alone and over HTTP, with the same objects and questions. Easy to get wrong: the
// load and the questions of both sides run one after the other on one machine, so ratios are asserted and milliseconds only printed.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import type { RowScope } from '../../search/rights/scope.ts';
import { openSqliteStore, type SqliteStore } from '../../search/stores/sqlite/store.ts';
import type { PageRequest } from '../../search/stores/store.ts';
import type { TypeInfo } from '../../search/types.ts';
import { median } from '../statistics.ts';
import { clusterName, clusterObjects, objectsPerCluster, type GeneratedObject } from './generator.ts';
import { benchHttp } from './http.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { newest, questions, type Question } from './questions.ts';
import { benchUsers } from './users.ts';

export const searchUsage = `npm run bench -- search [options]
  --clusters N    clusters of ${objectsPerCluster} objects, default 20; 200 for the figures of the documentation
  --rounds N      runs of each question at least, default 3
  --only LEVEL    store or http, default both
  --keep-going    print what does not hold, and end with 0 all the same`;

/** Objects a second the whole load has to reach on average. */
const leastRate = 3000;
/** CPU of a page at all clusters against that at so many. */
const smallClusters = 20;
const mostGrowth = 1.3;
const batchRows = 500;
const batchesInFlight = 16;

/** @returns the exit code: 0 when every ratio holds */
export async function benchSearch(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      clusters: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      'keep-going': { type: 'boolean', default: false },
    },
  });
  const clusters = Number(values.clusters);
  const rounds = Number(values.rounds);
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-search-'));
  // PostgreSQL runs as another user.
  chmodSync(directory, 0o711);
  try {
    const failures = [
      ...(values.only === 'http' ? [] : await benchStore(directory, clusters, rounds)),
      ...(values.only === 'store' ? [] : await benchHttp(directory, rounds, print)),
    ];
    for (const failure of failures) print(`does not hold: ${failure}`);
    return failures.length === 0 || values['keep-going'] ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The store alone. @returns a line for each question that does not hold */
async function benchStore(directory: string, clusters: number, rounds: number): Promise<readonly string[]> {
  const postgres = await startPostgres(join(directory, 'postgres'));
  const store = await openSqliteStore({ directory: join(directory, 'index') });
  try {
    const failures: string[] = [];
    let smallPageMs: number | undefined;
    const { rate, owner, pod } = await load(store, clusters, async (loaded) => {
      if (loaded === smallClusters && clusters > 2 * smallClusters)
        smallPageMs = await pageCpuMs(store, wholeScope(loaded));
    });
    const pageMs = await pageCpuMs(store, wholeScope(clusters));
    const isGrown = smallPageMs !== undefined && pageMs / smallPageMs > mostGrowth;
    const growth =
      smallPageMs === undefined
        ? ''
        : `, ${(pageMs / smallPageMs).toFixed(2)} times that at ${smallClusters} clusters, ${smallPageMs.toFixed(2)} ms (wanted ${mostGrowth})`;
    const pageText = `a page by creation and token: CPU ${pageMs.toFixed(2)} ms${growth}`;
    print(pageText);
    if (isGrown) failures.push(pageText);
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
  /** A Deployment and a pod of the first cluster. */
  readonly owner: string;
  readonly pod: GeneratedObject;
}

const warmPages = 200;
const timedPages = 200;

/** CPU of this process for a page of the newest that goes on where the last one ended. */
async function pageCpuMs(store: SqliteStore, scope: RowScope): Promise<number> {
  const spent: number[] = [];
  let after: PageRequest['after'];
  for (let at = 0; at < warmPages + timedPages; at++) {
    const before = process.cpuUsage();
    const page = await store.list(newest, scope, { limit: 50, ...(after === undefined ? {} : { after }) });
    for await (const chunk of page.chunks) if (chunk.length === 0) break;
    const { user, system } = process.cpuUsage(before);
    if (at >= warmPages) spent.push((user + system) / 1000);
    after = page.next;
  }
  return median(spent);
}

async function load(
  store: SqliteStore,
  clusters: number,
  onLoaded: (clusters: number) => Promise<void>,
): Promise<Loaded> {
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
    // Nothing is left over from the cluster before, so that generating is not writing time.
    await timed(async () => {
      for (const batch of batchesOf(index, objects)) {
        inFlight.push(store.apply(batch));
        if (inFlight.length >= batchesInFlight) await inFlight.shift();
      }
      await Promise.all(inFlight.splice(0));
    });
    await onLoaded(index + 1);
    if ((index + 1) % 20 === 0) print(`the store has ${index + 1} clusters`);
  }
  return { rate: (clusters * objectsPerCluster) / (busyMs / 1000), owner, pod: pod! };
}

function batchesOf(index: number, objects: readonly GeneratedObject[]) {
  const incarnation = { id: incarnationId(index), cluster: clusterName(index) };
  return [...Map.groupBy(objects, ({ resource }) => resource).values()].flatMap((all) => {
    const { group, resource, kind } = all[0]!;
    const names = { singular: kind.toLowerCase(), shortNames: [], categories: [] };
    const version = { version: 'v1', versions: ['v1'], convertible: false };
    const type: TypeInfo = { group, resource, kind, ...version, ...names, namespaced: resource !== 'nodes' };
    return Array.from({ length: Math.ceil(all.length / batchRows) }, (_, i) => ({
      incarnation,
      type,
      deletes: [],
      upserts: all.slice(i * batchRows, (i + 1) * batchRows).map((object) => ({
        ...object,
        labels: Object.entries(object.labels),
        raw: Buffer.from(object.json),
      })),
    }));
  });
}

function incarnationId(index: number): string {
  return `record-${index}/system-${index}`;
}

function wholeScope(clusters: number): RowScope {
  const types = new Map([['pods.', 'all' as const] as const, ['replicasets.apps', 'all' as const] as const]);
  const grants = new Map(Array.from({ length: clusters }, (_, index) => [incarnationId(index), types]));
  // Stores know a scope by its digest.
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
  for (let left = runsOf(await askOnce(), rounds); left > 0; left--) ours.push(await askOnce());
  const rival = postgres.time(sql, runsOf(postgres.time(sql, 2)[1]!, rounds));
  const ratio = median(rival) / median(ours);
  const holds = found === theirs && ratio >= atLeast;
  const wanted = `wanted ${atLeast}`;
  const rows = found === theirs ? `${found} rows` : `${found} rows, the rival ${theirs}`;
  const times = `${median(ours).toFixed(2)} ms, rival ${median(rival).toFixed(2)} ms`;
  return { text: `${name}: ${rows}, ${times}: ${ratio.toFixed(1)} times (${wanted})`, holds };
}

/** Fast questions are asked until both sides are warm, slow ones a few times: there the order of magnitude is what is asked. */
function runsOf(ms: number, rounds: number): number {
  return Math.max(rounds, Math.min(mostRuns, Math.ceil(runsForMs / ms)));
}

const mostRuns = 300;
const runsForMs = 1000;

/** Asks and reads every row. @returns rows, or the count */
async function askStore(store: SqliteStore, scope: RowScope, { query, ask }: Question): Promise<number> {
  if (ask === 'count') return store.count(query, scope);
  if ('facet' in ask) return (await store.facets(query, scope, ask.facet, 100_000)).length;
  let rows = 0;
  const page = await store.list(query, scope, ask);
  for await (const chunk of page.chunks) rows += chunk.length;
  // As every answer does.
  page.release?.();
  return rows;
}

function peakMemory(): string {
  const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return kib === undefined ? 'unknown' : `${Math.round(Number(kib) / 1024)} MiB`;
}
