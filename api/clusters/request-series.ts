// The counters of requests. They are plain numbers, so that counting a request costs only a few additions.
import type { MetricValue } from 'prom-client';

/**
 * Upper bounds of the histogram buckets in seconds, the same as in kube-apiserver's apiserver_request_duration_seconds.
 */
const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** A histogram of durations in the given buckets, as Prometheus defines one. */
export class Histogram {
  readonly counts = new Float64Array(buckets.length + 1);
  sum = 0;
  count = 0;

  add(seconds: number): void {
    let i = 0;
    while (i < buckets.length && seconds > buckets[i]!) i += 1;
    this.counts[i]! += 1;
    this.sum += seconds;
    this.count += 1;
  }
}

/**
 * Estimates a quantile as Prometheus' histogram_quantile does: it assumes that values are spread evenly within a
 * bucket, and takes a value beyond the last bound to be that bound. Undefined when nothing was counted.
 * @param counts number of values in each bucket, not cumulative
 * @param share which quantile, for example 0.99
 * @returns seconds
 */
export function quantile(counts: Float64Array, share: number): number | undefined {
  const rank = share * counts.reduce((sum, count) => sum + count, 0);
  if (rank === 0) return undefined;
  let below = 0;
  for (let i = 0; i < buckets.length; i++) {
    const count = counts[i]!;
    const floor = i === 0 ? 0 : buckets[i - 1]!;
    if (count > 0 && below + count >= rank) return floor + ((buckets[i]! - floor) * (rank - below)) / count;
    below += count;
  }
  return buckets.at(-1)!;
}

/** Counters of the requests with one verb to one cluster. */
export class Series {
  readonly cluster: string;
  readonly verb: string;
  readonly codes = new Map<number, number>();
  readonly total = new Histogram();
  readonly upstream = new Histogram();
  readonly gateway = new Histogram();
  bytesIn = 0;
  bytesOut = 0;
  aborted = 0;

  constructor(cluster: string, verb: string) {
    this.cluster = cluster;
    this.verb = verb;
  }
}

/** Number of requests by HTTP status code. */
export function codeValues({ cluster, verb, codes }: Series): MetricValue<string>[] {
  return [...codes].map(([code, value]) => ({ labels: { cluster, verb, code: String(code) }, value }));
}

/**
 * The values of a histogram as prom-client exports them.
 * @param name name of the metric; `_bucket`, `_sum` and `_count` are added to it
 */
export function histogramValues(name: string, one: Series, histogram: Histogram): MetricValue<string>[] {
  const labels = { cluster: one.cluster, verb: one.verb };
  const values: (MetricValue<string> & { metricName: string })[] = [];
  let cumulative = 0;
  for (let i = 0; i < histogram.counts.length; i++) {
    cumulative += histogram.counts[i]!;
    const le = i < buckets.length ? buckets[i]! : '+Inf';
    values.push({ labels: { ...labels, le }, value: cumulative, metricName: `${name}_bucket` });
  }
  values.push({ labels, value: histogram.sum, metricName: `${name}_sum` });
  values.push({ labels, value: histogram.count, metricName: `${name}_count` });
  return values;
}
