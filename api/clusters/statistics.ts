// The resource `statistics.gateway.portcullis.io`: counts, rates and times of the requests to each cluster. Security: a
// caller sees only the clusters that it may send requests to. Any other cluster is answered as if it did not exist, so
// that nobody learns from the numbers how a cluster is used that is closed to them.
import { hostname } from 'node:os';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord } from '../../model/records.ts';
import type { ClusterReader } from '../../model/store.ts';
import type { OpenStream } from '../../routing/forward/open-streams.ts';
import { decisionsAtOnce } from '../fanout/members/members.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import type { NumbersNow, Quantiles, ReadStatistics, RecentNumbers } from './request-statistics.ts';
import { gatewayGroup, groupVersionOf } from '../../request/api-groups.ts';
import type { Authorized } from '../../request/exchange.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';
import { clusterMetadata, conditionsOf } from './cluster-object.ts';
import { absent, answerResource, column } from './served-resource.ts';
import type { ServedResource } from './served-resource.ts';

/** The parts of the gateway from which the statistics are read. */
export interface StatisticsParts {
  readonly store: ClusterReader;
  readonly openStreams: Iterable<Pick<OpenStream, 'kind' | 'clusterName'>>;
  readonly read: ReadStatistics;
}

const columns = [
  column('Name', 'string', 0, 'Name of the cluster.', 'name'),
  column('Available', 'string', 0, 'Whether the API server answers: True, False or Unknown.'),
  column('Requests', 'integer', 0, 'Requests since the process started.'),
  column('Rate', 'string', 0, 'Requests a second, of the last minute or since the numbers were last asked for.'),
  column('Errors', 'string', 0, 'Answers with a code of 500 or more, a second.'),
  column('P50', 'string', 0, 'Time to the first byte of an answer: half of the requests took no longer.'),
  column('P99', 'string', 0, 'Time to the first byte of an answer: 99 of 100 requests took no longer.'),
  column('Gateway-P99', 'string', 0, 'The part of it that was spent in the gateway.'),
  column('Streams', 'integer', 0, 'Watches, logs, exec and other streams that are open.'),
];

/** Names this process in answers, because each of several gateway processes counts only its own requests. */
const instance = `${hostname()}/${process.pid}`;

/**
 * Answers a get or list of statistics.
 * @throws GatewayError (rejects) with the code for 400, 404, 405 or 406; HUB_UNAVAILABLE when the hub, which decides
 * about rights, does not answer
 */
export async function answerStatistics(
  state: Authorized,
  parts: StatisticsParts,
  name: string | undefined,
): Promise<CompleteResponse> {
  if (state.info.verb === 'watch')
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      'statistics change all the time and cannot be watched; get them again',
    );
  const { store } = parts;
  const resource = statisticsResource(parts, parts.read());
  const asked = name === undefined ? store.list() : [store.get(name)].filter((record) => record !== undefined);
  const reached = await inTurns(asked, decisionsAtOnce, ({ spec }) => state.access!.mayReach(spec));
  const records = asked.filter((_, i) => reached[i] === true);
  if (name !== undefined && records.length === 0) throw absent(resource, name);
  // The statistics change all the time and have no resourceVersion.
  const shown = { ...reader(store), resourceVersion: '', list: () => records };
  return answerResource(state, resource, shown, name);
}

function reader(store: ClusterReader): ClusterReader {
  return {
    get: (name) => store.get(name),
    getByUid: (uid) => store.getByUid(uid),
    list: () => store.list(),
    resourceVersion: store.resourceVersion,
    subscribe: (listener) => store.subscribe(listener),
    eventsSince: (version) => store.eventsSince(version),
  };
}

function statisticsResource({ openStreams }: StatisticsParts, now: NumbersNow): ServedResource {
  const streams = streamsByCluster(openStreams);
  return {
    group: gatewayGroup,
    plural: 'statistics',
    kind: 'ClusterStatistics',
    columns,
    fixed: [],
    showsProbe: true,
    of: (record) => {
      const { name, labels } = record.spec;
      const metadata = { ...clusterMetadata(record), resourceVersion: '' };
      const open = streams.get(name) ?? {};
      return {
        name,
        labels,
        resourceVersion: '',
        createdAt: Date.parse(record.createdAt) / 1000,
        metadata: () => metadata,
        whole: () => ({
          apiVersion: groupVersionOf(gatewayGroup),
          kind: 'ClusterStatistics',
          metadata,
          ...statisticsOf(now, record, open),
        }),
        cells: () => cellsOf(now, record, open),
      };
    },
  };
}

type OpenByKind = Readonly<Record<string, number>>;

function streamsByCluster(streams: StatisticsParts['openStreams']): ReadonlyMap<string, OpenByKind> {
  const found = new Map<string, Record<string, number>>();
  for (const { kind, clusterName } of streams) {
    const open = found.get(clusterName) ?? {};
    open[kind] = (open[kind] ?? 0) + 1;
    found.set(clusterName, open);
  }
  return found;
}

const noRequests = { total: 0, aborted: 0, bytesIn: 0, bytesOut: 0, codes: {}, verbs: {} };

function statisticsOf(now: NumbersNow, { spec, status }: ClusterRecord, open: OpenByKind): object {
  const numbers = now.of(spec.name);
  return {
    timestamp: new Date(now.atMs).toISOString(),
    startTime: new Date(now.sinceMs).toISOString(),
    instance,
    requests: numbers?.requests ?? noRequests,
    openRequests: open,
    ...(status.latencyMs === undefined ? {} : { probeMilliseconds: Math.round(status.latencyMs) }),
    ...(numbers?.recent === undefined ? {} : { recent: recentObject(numbers.recent) }),
  };
}

function recentObject(recent: RecentNumbers): object {
  const { seconds, requestsPerSecond, serverErrorsPerSecond, duration, upstream, gateway } = recent;
  const milliseconds = (quantiles: Quantiles | undefined): object | undefined =>
    quantiles && { p50: tenths(quantiles.p50 * 1000), p99: tenths(quantiles.p99 * 1000) };
  // JSON.stringify leaves out fields that are undefined.
  return {
    seconds: tenths(seconds),
    requestsPerSecond: thousandths(requestsPerSecond),
    serverErrorsPerSecond: thousandths(serverErrorsPerSecond),
    durationMilliseconds: milliseconds(duration),
    upstreamMilliseconds: milliseconds(upstream),
    gatewayMilliseconds: milliseconds(gateway),
  };
}

function cellsOf(now: NumbersNow, record: ClusterRecord, open: OpenByKind): readonly unknown[] {
  const numbers = now.of(record.spec.name);
  const recent = numbers?.recent;
  const perSecond = (value: number | undefined): string => (value === undefined ? '-' : `${thousandths(value)}/s`);
  const time = (seconds: number | undefined): string => (seconds === undefined ? '-' : `${tenths(seconds * 1000)}ms`);
  return [
    record.spec.name,
    conditionsOf(record).find(({ type }) => type === 'Available')?.status ?? 'Unknown',
    numbers?.requests.total ?? 0,
    perSecond(recent?.requestsPerSecond),
    perSecond(recent?.serverErrorsPerSecond),
    time(recent?.duration?.p50),
    time(recent?.duration?.p99),
    time(recent?.gateway?.p99),
    Object.entries(open).reduce((sum, [kind, count]) => (kind === 'short' ? sum : sum + count), 0),
  ];
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}
