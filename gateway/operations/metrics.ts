// What is counted, and how it is exported. Easy to get wrong: the hot path only adds to plain numbers; prom-client
// reads them when somebody scrapes. Label values are bounded: clusters only from records, unknown resources never.
import { Registry, collectDefaultMetrics } from 'prom-client';
import type { MetricValue } from 'prom-client';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Connections } from '../../routing/members/target.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import { conditionsOf } from '../api/clusters/cluster-object.ts';
import type { Observed } from '../exchange.ts';
import type { Log } from './log.ts';
import { registerRead } from './read-metric.ts';
import type { Aggregator } from './read-metric.ts';

/** kube-apiserver's buckets of apiserver_request_duration_seconds, in seconds. */
const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** What the chain tells about a request. */
export interface RequestMetrics {
  begin(state: Observed): void;
  end(state: Observed, aborted: boolean): void;
}

/** What is read at scrape time. */
export interface MetricSources {
  readonly store: Pick<ClusterStore, 'list' | 'get'>;
  readonly connections: Pick<Connections, 'stats'>;
  readonly openStreams: OpenStreams;
  readonly log: Log;
  /** Faults of reloads that keep the last good state, by file. */
  readonly reloadFaults: () => readonly string[];
  readonly version: string;
}

interface Series {
  readonly cluster: string;
  readonly verb: string;
  readonly codes: Map<number, number>;
  readonly total: Histogram;
  readonly upstream: Histogram;
  readonly gateway: Histogram;
  bytesIn: number;
  bytesOut: number;
  aborted: number;
  inFlight: number;
}

class Histogram {
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

/** The registry of one process and the counters behind it. */
export function makeMetrics(sources: MetricSources): RequestMetrics & { readonly registry: Registry } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const series = new Map<string, Map<string, Series>>();
  const allSeries = (): Series[] => [...series.values()].flatMap((ofCluster) => [...ofCluster.values()]);
  const seriesOf = (state: Observed): Series => {
    const { observation } = state;
    // The name of the record, not that of the request: a string that was a key before is found faster than a new one of
    // the same letters.
    const cluster = observation.cluster === '' ? '' : (sources.store.get(observation.cluster)?.spec.name ?? '');
    const verb = observation.verb === '' ? 'unknown' : observation.verb;
    let ofCluster = series.get(cluster);
    if (ofCluster === undefined) {
      ofCluster = new Map();
      series.set(cluster, ofCluster);
    }
    let found = ofCluster.get(verb);
    if (found === undefined) {
      found = {
        cluster,
        verb,
        codes: new Map(),
        total: new Histogram(),
        upstream: new Histogram(),
        gateway: new Histogram(),
        bytesIn: 0,
        bytesOut: 0,
        aborted: 0,
        inFlight: 0,
      };
      ofCluster.set(verb, found);
    }
    return found;
  };
  let inFlight = 0;

  const gauge = (
    name: string,
    help: string,
    values: () => readonly MetricValue<string>[],
    aggregator?: Aggregator,
  ): void => registerRead(registry, name, help, 'gauge', values, aggregator);
  const counter = (name: string, help: string, values: () => readonly MetricValue<string>[]): void =>
    registerRead(registry, name, help, 'counter', values);
  const perSeries = (read: (one: Series) => number) => () =>
    allSeries().map((one) => ({ labels: { cluster: one.cluster, verb: one.verb }, value: read(one) }));
  const histogram = (name: string, help: string, read: (one: Series) => Histogram): void =>
    registerRead(registry, name, help, 'histogram', () =>
      allSeries().flatMap((one) => histogramValues(name, one, read(one))),
    );

  counter(
    'portcullis_request_total',
    'Requests answered, by cluster, verb and HTTP code (0: the client left before an answer).',
    () =>
      allSeries().flatMap((one) =>
        [...one.codes].map(([code, value]) => ({
          labels: { cluster: one.cluster, verb: one.verb, code: String(code) },
          value,
        })),
      ),
  );
  counter(
    'portcullis_request_aborts_total',
    'Requests whose answer was cut, by the client, the member or a drain.',
    perSeries((one) => one.aborted),
  );
  counter(
    'portcullis_request_bytes_total',
    'Bytes of request bodies.',
    perSeries((one) => one.bytesIn),
  );
  counter(
    'portcullis_response_bytes_total',
    'Bytes of response bodies.',
    perSeries((one) => one.bytesOut),
  );
  histogram(
    'portcullis_request_duration_seconds',
    'Time from the request head to the first byte of the answer.',
    (one) => one.total,
  );
  histogram(
    'portcullis_upstream_duration_seconds',
    'The part of it spent waiting for the member.',
    (one) => one.upstream,
  );
  histogram(
    'portcullis_gateway_duration_seconds',
    'The part of it spent in the gateway, connecting included.',
    (one) => one.gateway,
  );
  gauge('portcullis_current_inflight_requests', 'Requests under way, streams included.', () => [
    { labels: {}, value: inFlight },
  ]);
  gauge('portcullis_longrunning_requests', 'Open streams to members by kind.', () =>
    openStreamValues(sources.openStreams),
  );
  gauge('portcullis_upstream_connections', 'Connections to members by state.', () =>
    connectionValues(sources.connections),
  );
  gauge(
    'portcullis_breaker_open',
    '1 while a cluster is not being asked because it did not answer.',
    () =>
      sources.connections
        .stats()
        .map(([cluster, , state]) => ({ labels: { cluster }, value: state === 'closed' ? 0 : 1 })),
    'max',
  );
  gauge(
    'portcullis_cluster_condition',
    '1 for the present status of each condition of each cluster.',
    () =>
      sources.store.list().flatMap((record) =>
        conditionsOf(record).map(({ type, status }) => ({
          labels: { cluster: record.spec.name, type, status },
          value: 1,
        })),
      ),
    'first',
  );
  gauge(
    'portcullis_config_reload_failed',
    '1 for each file whose last edit could not be used; the last good state is kept.',
    () => sources.reloadFaults().map((file) => ({ labels: { file }, value: 1 })),
    'first',
  );
  gauge(
    'portcullis_build_info',
    'Version of Portcullis.',
    () => [{ labels: { version: sources.version }, value: 1 }],
    'first',
  );

  return {
    registry,
    begin() {
      inFlight += 1;
    },
    end(state, aborted) {
      inFlight -= 1;
      const { progress, observation, receivedAtMs } = state;
      const one = seriesOf(state);
      one.codes.set(progress.status, (one.codes.get(progress.status) ?? 0) + 1);
      one.bytesIn += progress.bytesIn;
      one.bytesOut += progress.bytesOut;
      if (aborted) one.aborted += 1;
      const nowMs = performance.now();
      const answeredAtMs = progress.firstByteAtMs === 0 ? nowMs : progress.firstByteAtMs;
      const totalMs = answeredAtMs - receivedAtMs;
      const upstreamMs = progress.sentAtMs === 0 ? 0 : Math.max(0, answeredAtMs - progress.sentAtMs);
      one.total.add(totalMs / 1000);
      if (progress.sentAtMs !== 0) one.upstream.add(upstreamMs / 1000);
      one.gateway.add((totalMs - upstreamMs) / 1000);
      const level = progress.status >= 500 ? 'warn' : observation.longRunning ? 'info' : 'debug';
      if (sources.log.isLevelEnabled(level)) logRequest(sources.log, level, state, aborted, nowMs);
    },
  };
}

function logRequest(
  log: Log,
  level: 'warn' | 'info' | 'debug',
  state: Observed,
  aborted: boolean,
  nowMs: number,
): void {
  const { inbound, observation, progress, auditId, receivedAtMs, peer } = state;
  const error = observation.error;
  log[level](
    {
      auditId,
      method: inbound.method,
      path: pathOf(inbound.target),
      verb: observation.verb,
      cluster: observation.cluster,
      status: progress.status,
      ending: aborted ? (progress.ending === 'open' ? 'client-gone' : progress.ending) : 'complete',
      durationMs: Math.round(nowMs - receivedAtMs),
      bytesIn: progress.bytesIn,
      bytesOut: progress.bytesOut,
      protocol: inbound.protocol,
      peer: peer.address,
      ...(error instanceof Error ? { error: error.message } : {}),
    },
    'request',
  );
}

/** Query, fragment and the user of an absolute form may be secrets (`?token=`), so the log never has them. */
function pathOf(target: string): string {
  if (!target.startsWith('/')) return '';
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

function histogramValues(name: string, one: Series, histogram: Histogram): MetricValue<string>[] {
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

function openStreamValues(openStreams: OpenStreams): MetricValue<string>[] {
  const counts = new Map<string, MetricValue<string>>();
  for (const { kind, clusterName } of openStreams) {
    const key = `${kind} ${clusterName}`;
    const found = counts.get(key);
    if (found === undefined) counts.set(key, { labels: { kind, cluster: clusterName }, value: 1 });
    else found.value += 1;
  }
  return [...counts.values()];
}

function connectionValues(connections: Pick<Connections, 'stats'>): MetricValue<string>[] {
  return connections.stats().flatMap(([cluster, stats]) => [
    { labels: { cluster, state: 'http1-idle' }, value: stats.http1Idle },
    { labels: { cluster, state: 'http1-active' }, value: stats.http1Active },
    { labels: { cluster, state: 'http2-sessions' }, value: stats.http2Sessions },
    { labels: { cluster, state: 'http2-streams' }, value: stats.http2Streams },
    { labels: { cluster, state: 'pending' }, value: stats.pending },
    { labels: { cluster, state: 'upgraded' }, value: stats.upgraded },
  ]);
}
