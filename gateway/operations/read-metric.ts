// Metrics whose values are computed only when they are scraped, so that a request only increments plain numbers. Label
// values must come from a limited set, or the number of time series grows without end.
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

/** The values of a metric at one scrape. */
export type MetricValues = readonly MetricValue<string>[];

/**
 * How the values of several worker processes are combined. `first` means: only the value of the first process (which
 * starts the workers) counts.
 */
export type Aggregator = 'sum' | 'max' | 'min' | 'first';

/**
 * Registers a metric whose values the function `values` returns at each scrape. The registered object is no prom-client
 * metric: prom-client only calls its `get()`.
 */
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

/** The value of a metric that has no labels. */
export function single(value: number): MetricValues {
  return [{ labels: {}, value }];
}

/** The values of a metric with one label: pairs of label value and number. */
export function by(label: string, values: Iterable<readonly [string, number]>): MetricValues {
  return Array.from(values, ([key, value]) => ({ labels: { [label]: key }, value }));
}
