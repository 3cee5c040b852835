// Counts, rates and durations of the requests to each cluster, as the API serves them (`statistics`). They are computed
// only when somebody asks for them, and at most once a second. Easy to get wrong: they are the counts of this process
// alone; only Prometheus adds up those of all processes.
import type { Series } from './request-series.ts';
import { quantile } from './request-series.ts';

/** Numbers about the requests to one cluster: since the process started, and in the recent past. */
export interface ClusterNumbers {
  readonly requests: RequestCounts;
  /** Undefined until there is an earlier reading with which the present counters can be compared. */
  readonly recent: RecentNumbers | undefined;
}

/** How many requests to one cluster there were since the process started. */
export interface RequestCounts {
  readonly total: number;
  /** Requests by HTTP status code; the code 0 counts requests whose client left before an answer. */
  readonly codes: Readonly<Record<string, number>>;
  readonly verbs: Readonly<Record<string, number>>;
  /** Number of answers that were cut before their end. */
  readonly aborted: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The difference between an earlier reading of the counters and the present one, as rates and durations. */
export interface RecentNumbers {
  /** Seconds between the earlier reading and the present one. */
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Answers per second with an HTTP status of 500 or more. */
  readonly serverErrorsPerSecond: number;
  /** Seconds from the request to the first byte of its answer; undefined when there were no requests. */
  readonly duration: Quantiles | undefined;
  /** The part of `duration` in which the gateway waited for the cluster. */
  readonly upstream: Quantiles | undefined;
  /** The rest of `duration`: work and waiting in the gateway, connecting to the cluster included. */
  readonly gateway: Quantiles | undefined;
}

/** Estimated quantiles in seconds, computed as Prometheus' histogram_quantile computes them from the same buckets. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** The numbers of all clusters, read at one moment. */
export interface NumbersNow {
  /** When the numbers were read, in milliseconds since 1970. */
  readonly atMs: number;
  /** When counting began, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** The numbers of one cluster; undefined when the cluster has had no requests. */
  of(cluster: string): ClusterNumbers | undefined;
}

/** Returns the numbers of all clusters; they are at most one second old. */
export type ReadStatistics = () => NumbersNow;

interface Totals {
  count: number;
  serverErrors: number;
  readonly histograms: Readonly<Record<'total' | 'upstream' | 'gateway', Float64Array>>;
}

interface Snapshot {
  readonly atMs: number;
  readonly clusters: ReadonlyMap<string, Totals>;
}

/** For this many milliseconds, everybody who asks gets the same numbers, so that many askers cause no more work. */
const sharedMs = 1_000;
/** Rates are computed over about this many milliseconds, when numbers are asked for at least this often. */
const recentMs = 60_000;
/** Milliseconds between two readings that are kept for later comparison. */
const keptEveryMs = 5_000;

/**
 * Makes the function that reads the numbers.
 * @param series returns the counters of all requests so far
 * @param clockMs returns the present time in milliseconds since 1970
 */
export function makeStatistics(series: () => readonly Series[], clockMs: () => number = Date.now): ReadStatistics {
  const sinceMs = clockMs();
  let kept: readonly Snapshot[] = [];
  let shared: NumbersNow | undefined;
  return () => {
    const atMs = clockMs();
    if (shared !== undefined && atMs - shared.atMs < sharedMs) return shared;
    const all = Map.groupBy(series(), ({ cluster }) => cluster);
    const snapshot: Snapshot = { atMs, clusters: new Map(Array.from(all, ([name, own]) => [name, totalsOf(own)])) };
    // The newest reading that is older than `recentMs` is kept, so that a caller who asks less often than once a minute
    // still gets the numbers since that reading.
    const tooOld = kept.filter((each) => each.atMs <= atMs - recentMs).length;
    kept = kept.slice(Math.max(0, tooOld - 1));
    const before = kept[0];
    if (kept.length === 0 || atMs - kept.at(-1)!.atMs >= keptEveryMs) kept = [...kept, snapshot];
    shared = {
      atMs,
      sinceMs,
      of(cluster) {
        const own = all.get(cluster);
        if (own === undefined) return undefined;
        return { requests: countsOf(own), recent: before && recentOf(snapshot, before, cluster) };
      },
    };
    return shared;
  };
}

function totalsOf(series: readonly Series[]): Totals {
  const sum = (read: (one: Series) => Float64Array): Float64Array => {
    const added = Float64Array.from(read(series[0]!));
    for (const one of series.slice(1)) read(one).forEach((count, i) => (added[i]! += count));
    return added;
  };
  const totals: Totals = {
    count: 0,
    serverErrors: 0,
    histograms: {
      total: sum((one) => one.total.counts),
      upstream: sum((one) => one.upstream.counts),
      gateway: sum((one) => one.gateway.counts),
    },
  };
  for (const { codes } of series) {
    for (const [code, count] of codes) {
      totals.count += count;
      if (code >= 500) totals.serverErrors += count;
    }
  }
  return totals;
}

function countsOf(series: readonly Series[]): RequestCounts {
  const codes: Record<string, number> = {};
  const verbs: Record<string, number> = {};
  const sums = { total: 0, aborted: 0, bytesIn: 0, bytesOut: 0 };
  for (const one of series) {
    for (const [code, count] of one.codes) {
      codes[code] = (codes[code] ?? 0) + count;
      verbs[one.verb] = (verbs[one.verb] ?? 0) + count;
      sums.total += count;
    }
    sums.aborted += one.aborted;
    sums.bytesIn += one.bytesIn;
    sums.bytesOut += one.bytesOut;
  }
  return { ...sums, codes, verbs };
}

function recentOf(now: Snapshot, before: Snapshot, cluster: string): RecentNumbers {
  const totals = now.clusters.get(cluster)!;
  const earlier = before.clusters.get(cluster);
  const seconds = (now.atMs - before.atMs) / 1000;
  const quantiles = (name: keyof Totals['histograms']): Quantiles | undefined => {
    const counts = totals.histograms[name].map((count, i) => count - (earlier?.histograms[name][i] ?? 0));
    const p50 = quantile(counts, 0.5);
    return p50 === undefined ? undefined : { p50, p99: quantile(counts, 0.99)! };
  };
  return {
    seconds,
    requestsPerSecond: (totals.count - (earlier?.count ?? 0)) / seconds,
    serverErrorsPerSecond: (totals.serverErrors - (earlier?.serverErrors ?? 0)) / seconds,
    duration: quantiles('total'),
    upstream: quantiles('upstream'),
    gateway: quantiles('gateway'),
  };
}
