// Compares queries of users who may see little, much or everything: CPU time of a query, relative to the same query of
// an administrator. The first query of a user fills caches for later ones, so its time is printed separately and not
// compared.
import type { ListQuery } from '../../query/list-query.ts';
import type { Grant } from '../../query/scope/scope.ts';
import { openReader, type Reader } from '../../store/sqlite/read/reader.ts';
import type { FacetBy } from '../../store/store.ts';
import { median } from '../figures/statistics.ts';
import { clusterObjects } from './generator.ts';
import { newest, pods, webByName, webLabels } from './questions.ts';

/**
 * Limit for a query of any user: `mostTimes` times the CPU time of the administrator's query, or `mostMs` milliseconds
 * if that is more.
 */
const mostTimes = 2;
const mostMs = 5;
const pairs = 3000;
const names = 1000;
/** Number of namespaces in generated clusters. */
const namespaces = 100;
const cacheBytes = 256 << 20;

interface User {
  readonly who: string;
  readonly grantOf: (cluster: number) => Grant | undefined;
}

type Scope = Parameters<Reader['operations']['count']>[0]['scope'];

interface Asked {
  readonly what: string;
  readonly ask: (reader: Reader, scope: Scope) => Promise<unknown>;
}

const list = (what: string, query: ListQuery, offset?: number): Asked => ({
  what,
  ask: ({ operations }, scope) =>
    operations.list({ query, scope, page: { limit: 50, ...(offset === undefined ? {} : { offset }) } }),
});
const count = (what: string, query: ListQuery): Asked => ({
  what,
  ask: ({ operations }, scope) => operations.count({ query, scope }),
});
const facets = (what: string, by: FacetBy): Asked => ({
  what,
  ask: ({ operations }, scope) => operations.facets({ query: pods, scope, by, limit: 1000 }),
});

const questions: readonly Asked[] = [
  list('a namespace, 50', { ...pods, namespaces: ['team-10'] }),
  list('b two labels by name, 50', webByName),
  count('b count', { ...pods, labels: webLabels }),
  list('g newest, 50', newest),
  list('g newest, offset 200', newest, 200),
  list('g newest, offset 10,000', newest, 10_000),
  count('count', pods),
  facets('by cluster', 'cluster'),
  facets('by namespace', 'namespace'),
  facets('by label', { label: 'app' }),
  facets('by a label of many values', { label: 'pod-template-hash' }),
  facets('by phase', { path: 'status.phase' }),
  facets('by node', { path: 'spec.nodeName' }),
  facets('by image', { path: 'spec.containers[].image' }),
];

/**
 * Runs the queries of all users in this thread, on a database file to which nobody writes meanwhile.
 * @param file path of the store's database file
 * @returns a line of text for each query that takes too much CPU time
 */
export async function benchUsers(
  file: string,
  clusters: number,
  incarnationId: (cluster: number) => string,
  print: (line: string) => void,
): Promise<readonly string[]> {
  const reader = openReader(file, cacheBytes);
  try {
    const failures: string[] = [];
    const scopes = users(clusters).map(({ who, grantOf }, number) => {
      const grants = Array.from({ length: clusters }, (_, at) => [incarnationId(at), grantOf(at)] as const).flatMap(
        ([id, grant]) => (grant === undefined ? [] : [[id, new Map([['pods.', grant]])] as const]),
      );
      return { who, scope: { number, grants: new Map(grants), dropped: [] } };
    });
    for (const { what, ask } of questions) {
      const spent: { readonly who: string; readonly firstMs: number; readonly ms: number }[] = [];
      for (const { who, scope } of scopes) spent.push({ who, ...(await cpuOf(() => ask(reader, scope))) });
      const bound = Math.max(mostMs, mostTimes * spent[0]!.ms);
      const parts = spent.map(({ who, ms, firstMs }) => `${who} ${ms.toFixed(2)} (first ${firstMs.toFixed(0)})`);
      const text = `${what}: CPU in ms, ${parts.join(', ')} (wanted ${bound.toFixed(1)})`;
      print(text);
      if (spent.some(({ ms }) => ms > bound)) failures.push(text);
    }
    return failures;
  } finally {
    reader.close();
  }
}

/** Returns the users whose queries are compared, the administrator first. */
function users(clusters: number): readonly User[] {
  const found = [...clusterObjects(0)].filter(({ kind }) => kind === 'Pod');
  const sizes = [...Map.groupBy(found, ({ namespace }) => namespace)];
  const [fifty] = sizes.toSorted(([, one], [, other]) => Math.abs(one.length - 50) - Math.abs(other.length - 50))[0]!;
  const { namespace, name } = found[0]!;
  const ofFirst = (grant: Grant) => (cluster: number) => (cluster === 0 ? grant : undefined);
  return [
    { who: 'administrator', grantOf: () => 'all' },
    { who: 'no rows', grantOf: () => undefined },
    { who: 'one row', grantOf: ofFirst({ namespaces: [], names: [{ namespace, name }] }) },
    { who: 'fifty rows', grantOf: ofFirst({ namespaces: [fifty], names: [] }) },
    { who: '3,000 pairs', grantOf: (cluster) => ({ namespaces: pairsOf(cluster, clusters), names: [] }) },
    { who: '1,000 names', grantOf: (cluster) => ({ namespaces: [], names: namesOf(cluster, clusters) }) },
  ];
}

/**
 * Returns the namespaces that a user may see in one cluster: only some of the cluster's namespaces, and with few
 * clusters also some that do not exist.
 */
function pairsOf(cluster: number, clusters: number): readonly string[] {
  const each = Math.ceil(pairs / clusters);
  const among = Math.max(namespaces, Math.ceil(each * 1.2));
  // Consecutive namespaces, beginning with another one in each cluster.
  return Array.from({ length: each }, (_, i) => `team-${String((i + cluster * 11) % among).padStart(2, '0')}`);
}

function namesOf(cluster: number, clusters: number): { readonly namespace: undefined; readonly name: string }[] {
  return clusterObjects(cluster)
    .filter(({ kind }) => kind === 'Pod')
    .take(Math.ceil(names / clusters))
    .map(({ name }) => ({ namespace: undefined, name }))
    .toArray();
}

const rounds = 5;
/**
 * Milliseconds of one round of queries. The CPU clock of a thread counts in whole milliseconds, so a round must be
 * long.
 */
const roundMs = 60;
const mostAsked = 500;

async function cpuOf(ask: () => Promise<unknown>): Promise<{ readonly firstMs: number; readonly ms: number }> {
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const startMs = cpuMs();
  await ask();
  const firstMs = cpuMs() - startMs;
  const spent: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const beforeMs = cpuMs();
    const untilMs = performance.now() + roundMs;
    let asked = 0;
    for (; asked === 0 || (performance.now() < untilMs && asked < mostAsked); asked++) await ask();
    // The first round is not counted, because V8 still compiles code in it.
    if (round > 0) spent.push((cpuMs() - beforeMs) / asked);
  }
  return { firstMs, ms: median(spent) };
}
