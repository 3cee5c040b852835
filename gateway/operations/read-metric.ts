// Metrics whose values are read when somebody scrapes, so that requests only add to plain numbers. Label values must
// come from a bounded set.
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

/** The values of a metric at one scrape. */
export type MetricValues = readonly MetricValue<string>[];

/** How the values of several processes become one; `first`: those of one process count, as all have the same. */
export type Aggregator = 'sum' | 'max' | 'min' | 'first';

/** Registers one; prom-client asks any metric only for get(). */
export function registerRead(
  registry: Registry,
  name: string,
  help: string,
  type: 'gauge' | 'counter' | 'histogram',
  values: () => MetricValues,
  aggregator: Aggregator = 'sum',
): void {
  const metric = {
    name,
    help,
    type,
    aggregator,
    reset: () => undefined,
    get: async () =>
      ({ name, help, type, aggregator, values: values() }) as unknown as MetricObjectWithValues<MetricValue<string>>,
  };
  registry.registerMetric(metric as never);
}

/** The values of a metric without labels. */
export function single(value: number): MetricValues {
  return [{ labels: {}, value }];
}

/** The values of a metric with one label. */
export function by(label: string, values: Iterable<readonly [string, number]>): MetricValues {
  return Array.from(values, ([key, value]) => ({ labels: { [label]: key }, value }));
}
