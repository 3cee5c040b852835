// Metrics of the controllers that write to the hub. Every replica has these metrics, but only the one that holds the
// Lease of a controller has values for them.
import type { Registry } from 'prom-client';
import type { WorkNumbers } from '../../distribute/works.ts';
import type { JoinNumbers } from '../../join/joins.ts';
import { by, registerRead, single } from './read-metric.ts';
import type { MetricValues } from './read-metric.ts';

/**
 * Registers the metrics of ManifestWorks.
 * @param current returns the present numbers; undefined while another replica executes works
 */
export function registerWorkMetrics(registry: Registry, current: () => WorkNumbers | undefined): void {
  const read = (
    name: string,
    help: string,
    type: 'gauge' | 'counter',
    values: (numbers: WorkNumbers) => MetricValues,
  ): void =>
    registerRead(registry, name, help, type, () => {
      const numbers = current();
      return numbers === undefined ? [] : values(numbers);
    });
  read(
    'portcullis_works',
    'ManifestWorks of the clusters whose works this gateway executes, by state.',
    'gauge',
    ({ works }) => by('state', Object.entries(works)),
  );
  read(
    'portcullis_work_queue_seconds',
    'Longest wait of a ManifestWork for its turn, by cluster.',
    'gauge',
    (numbers) => by('cluster', numbers.queueSeconds),
  );
  read('portcullis_work_reconciles_total', 'How often a ManifestWork was reconciled.', 'counter', ({ reconciles }) =>
    single(reconciles),
  );
  read('portcullis_work_reconcile_seconds_total', 'How long that took together.', 'counter', ({ reconcileSeconds }) =>
    single(reconcileSeconds),
  );
}

/**
 * Registers the metric of ClusterJoins.
 * @param current returns the present numbers; undefined while another replica carries out ClusterJoins
 */
export function registerJoinMetrics(registry: Registry, current: () => JoinNumbers | undefined): void {
  registerRead(registry, 'portcullis_cluster_joins', 'ClusterJoins, by state.', 'gauge', () =>
    by('state', Object.entries(current() ?? {})),
  );
}
