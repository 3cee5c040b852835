// One metrics page with the sums over all processes of a gateway. When a worker has ended, its counters are kept:
// otherwise every sum would fall, which looks like a restart of the whole gateway.
import { AggregatorRegistry } from 'prom-client';
import type { Registry } from 'prom-client';
import type { MetricsPage } from '../parts/operations.ts';
import { by, registerRead, single } from '../operations/read-metric.ts';
import type { Supervisor } from './supervisor.ts';
import type { MetricReading } from './messages.ts';

/** The metrics page of the first process, with the sums over all workers. */
export interface WorkersPage extends MetricsPage {
  /** Adds the last counters and histograms of a worker that has ended to those that are kept. */
  keep(metrics: readonly MetricReading[]): void;
}

/** Milliseconds to wait for a worker's metrics. If they do not arrive in time, its previous metrics are used. */
const readTimeoutMs = 1_000;

/**
 * Makes the metrics page of all processes.
 * @param own registry of the first process, with its memory, CPU and audit log
 */
export function makeWorkersPage(
  own: Registry,
  supervisor: () => Pick<Supervisor, 'list' | 'restarts' | 'readMetrics'> | undefined,
): WorkersPage {
  let departed: readonly MetricReading[] = [];
  const running = (): ReturnType<Supervisor['list']> => supervisor()?.list() ?? [];
  registerRead(own, 'portcullis_workers_ready', 'Workers that serve.', 'gauge', () =>
    single(running().filter(([, { isReady }]) => isReady).length),
  );
  registerRead(own, 'portcullis_worker_restarts_total', 'Workers that ended and were replaced.', 'counter', () =>
    single(supervisor()?.restarts ?? 0),
  );
  registerRead(own, 'portcullis_worker_connections', 'Connections of clients by worker.', 'gauge', () =>
    by(
      'worker',
      running().map(([slot, { connections }]) => [String(slot), connections]),
    ),
  );
  return {
    contentType: own.contentType,
    async metrics() {
      await supervisor()?.readMetrics(readTimeoutMs);
      const mine = (await own.getMetricsAsJSON()) as unknown as MetricReading[];
      const theirs = running().map(([, { metrics }]) => metrics);
      return await summed([mine, ...theirs, departed]).metrics();
    },
    keep(metrics) {
      const counted = metrics.filter(
        ({ type, aggregator }) => aggregator === 'sum' && (type === 'counter' || type === 'histogram'),
      );
      departed = added(departed, counted);
    },
  };
}

function summed(readings: readonly (readonly MetricReading[])[]): Registry {
  return AggregatorRegistry.aggregate(readings as unknown as object[]) as unknown as Registry;
}

/** Adds up the metrics of two readings. */
function added(one: readonly MetricReading[], other: readonly MetricReading[]): readonly MetricReading[] {
  const metrics = summed([one, other]).getMetricsAsArray() as unknown as { get(): MetricReading }[];
  return metrics.map((metric) => {
    const { name, help, type, aggregator, values } = metric.get();
    return { name, help, type, aggregator, values };
  });
}
