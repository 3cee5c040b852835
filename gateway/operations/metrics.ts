// The metrics of the gateway. A request only increments plain numbers, which is cheap; prom-client reads these numbers
// when metrics are scraped. Easy to get wrong: label values must come from a limited set, or the number of time series
// grows without end. Cluster names come only from existing records, and resource names are not used as labels.
import { Registry, collectDefaultMetrics } from 'prom-client';
import type { MetricValue } from 'prom-client';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Connections } from '../../routing/members/target.ts';
import type { ClusterStore } from '../../model/store.ts';
import { conditionsOf } from '../../api/clusters/cluster-object.ts';
import type { Observed } from '../../request/exchange.ts';
import type { Log } from '../../lib/log.ts';
import { by, registerRead, single } from './read-metric.ts';
import type { Aggregator, MetricValues } from './read-metric.ts';
import { codeValues, histogramValues, Series } from '../../api/clusters/request-series.ts';
import type { Histogram } from '../../api/clusters/request-series.ts';

/** Counts requests: `begin` and `end` are called once for each request. */
export interface RequestMetrics {
  begin(state: Observed): void;
  end(state: Observed, aborted: boolean): void;
}

/** The sources of metrics other than the counted requests. They are read when metrics are scraped. */
export interface MetricSources {
  readonly store: Pick<ClusterStore, 'list' | 'get'>;
  readonly connections: Pick<Connections, 'stats'>;
  readonly openStreams: OpenStreams;
  readonly log: Log;
  /** Files whose last change was invalid, so that their previous content stays in use. */
  readonly reloadFaults: () => readonly string[];
  readonly version: string;
}

/** The metrics registry of one process, and its counters of requests. */
export interface Metrics extends RequestMetrics {
  readonly registry: Registry;
  /** The counters of all requests so far. */
  series(): readonly Series[];
}

/** Makes the metrics registry of one process and the counters of requests. */
export function makeMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new RequestCounters(sources);
  registerRequestMetrics(registry, requests);
  registerStateMetrics(registry, sources);
  return {
    registry,
    series: () => requests.all(),
    begin: () => requests.begin(),
    end: (state, aborted) => requests.end(state, aborted),
  };
}

/** Counts requests by cluster and verb. */
class RequestCounters implements RequestMetrics {
  readonly #sources: MetricSources;
  readonly #series = new Map<string, Map<string, Series>>();
  #inFlight = 0;

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  all(): Series[] {
    return [...this.#series.values()].flatMap((ofCluster) => [...ofCluster.values()]);
  }

  begin(): void {
    this.#inFlight += 1;
  }

  end(state: Observed, aborted: boolean): void {
    this.#inFlight -= 1;
    const { progress, observation, receivedAtMs } = state;
    const one = this.#seriesOf(state);
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
    const { log } = this.#sources;
    // Status 505 (HTTP version not supported) is no fault of the gateway or of a cluster, and anybody can cause it
    // without logging in. So it is not logged as a warning.
    const hasFailed = progress.status >= 500 && progress.status !== 505;
    const level = hasFailed ? 'warn' : observation.longRunning ? 'info' : 'debug';
    if (log.isLevelEnabled(level)) logRequest(log, level, state, aborted, nowMs);
  }

  #seriesOf({ observation }: Observed): Series {
    // The key is the name in the cluster record, not the equal string from the request: looking up a Map is faster with
    // the same string object.
    const cluster = observation.cluster === '' ? '' : (this.#sources.store.get(observation.cluster)?.spec.name ?? '');
    const verb = observation.verb === '' ? 'unknown' : observation.verb;
    let ofCluster = this.#series.get(cluster);
    if (ofCluster === undefined) {
      ofCluster = new Map();
      this.#series.set(cluster, ofCluster);
    }
    let found = ofCluster.get(verb);
    if (found === undefined) {
      found = new Series(cluster, verb);
      ofCluster.set(verb, found);
    }
    return found;
  }
}

/** Registers the metrics that count requests. */
function registerRequestMetrics(registry: Registry, requests: RequestCounters): void {
  const perSeries = (read: (one: Series) => number) => (): MetricValues =>
    requests.all().map((one) => ({ labels: { cluster: one.cluster, verb: one.verb }, value: read(one) }));
  const counter = (name: string, help: string, values: () => MetricValues): void =>
    registerRead(registry, name, help, 'counter', values);
  const histogram = (name: string, help: string, read: (one: Series) => Histogram): void =>
    registerRead(registry, name, help, 'histogram', () =>
      requests.all().flatMap((one) => histogramValues(name, one, read(one))),
    );

  counter(
    'portcullis_request_total',
    'Requests answered, by cluster, verb and HTTP code (0: the client left before an answer).',
    () => requests.all().flatMap(codeValues),
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
  registerRead(registry, 'portcullis_current_inflight_requests', 'Requests under way, streams included.', 'gauge', () =>
    single(requests.inFlight),
  );
}

/** Registers the metrics that show the present state of streams, connections, clusters and files. */
function registerStateMetrics(registry: Registry, sources: MetricSources): void {
  const { store, connections, openStreams, reloadFaults, version } = sources;
  const gauge = (name: string, help: string, values: () => MetricValues, aggregator?: Aggregator): void =>
    registerRead(registry, name, help, 'gauge', values, aggregator);

  gauge('portcullis_longrunning_requests', 'Open streams to members by kind.', () => openStreamValues(openStreams));
  gauge('portcullis_upstream_connections', 'Connections to members by state.', () => connectionValues(connections));
  gauge(
    'portcullis_breaker_open',
    '1 while a cluster is not being asked because it did not answer.',
    () =>
      by(
        'cluster',
        connections.stats().map(([cluster, , state]) => [cluster, state === 'closed' ? 0 : 1]),
      ),
    'max',
  );
  gauge(
    'portcullis_cluster_condition',
    '1 for the present status of each condition of each cluster.',
    () =>
      store.list().flatMap((record) =>
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
    () =>
      by(
        'file',
        reloadFaults().map((file) => [file, 1]),
      ),
    'first',
  );
  gauge('portcullis_build_info', 'Version of Portcullis.', () => by('version', [[version, 1]]), 'first');
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

/**
 * The path of a request target, for the log. Security: query, fragment and the user part of an absolute URL may be
 * secrets (`?token=`), so they are never logged.
 */
function pathOf(target: string): string {
  if (!target.startsWith('/')) return '';
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
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
  return connections.stats().flatMap(([cluster, stats]) =>
    Object.entries(stats).map(([name, value]) => {
      const state = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return { labels: { cluster, state }, value };
    }),
  );
}
