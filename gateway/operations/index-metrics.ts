// Metrics of the index. They exist from the start of the gateway and have no values until the index runs.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Index } from '../../search/index.ts';
import { registerRead, single } from './read-metric.ts';
import type { MetricValues } from './read-metric.ts';

type TypeStates = ReturnType<Index['state']>[number]['types'];

/**
 * Registers the metrics of the index.
 * @param running returns the index; undefined while it is not started
 * @param folder where the index is stored
 */
export function registerIndexMetrics(registry: Registry, running: () => Index | undefined, folder: string): void {
  const perCluster = (read: (types: TypeStates) => number) => (): MetricValues =>
    (running()?.state() ?? []).map(({ cluster, types }) => ({ labels: { cluster }, value: read(types) }));
  // Processes that share an index tell the same of it.
  const gauge = (name: string, help: string, values: () => MetricValues): void =>
    registerRead(registry, name, help, 'gauge', values, 'max');

  gauge(
    'portcullis_index_objects',
    'Objects in the index, by cluster.',
    perCluster((types) => types.reduce((sum, { objects }) => sum + objects, 0)),
  );
  gauge(
    'portcullis_index_lag_seconds',
    'Age of the oldest change that was read from a cluster and is not in the index yet.',
    perCluster((types) => types.reduce((most, { lagMs }) => Math.max(most, lagMs), 0) / 1000),
  );
  gauge(
    'portcullis_index_unsynced_types',
    'Types of a cluster that are chosen and not in the index, or not followed now.',
    perCluster(
      (types) => types.filter(({ isChosen, isWhole, phase }) => isChosen && (!isWhole || phase !== 'watching')).length,
    ),
  );
  registerRead(
    registry,
    'portcullis_index_rights_samples_total',
    "Decisions of mirrored RBAC that were compared with the cluster's own, by cluster and result (agreed, mismatch, unanswered).",
    'counter',
    () =>
      (running()?.rightsSamples() ?? []).map(({ cluster, result, count }) => ({
        labels: { cluster, result },
        value: count,
      })),
  );
  gauge('portcullis_index_bytes', 'What the index takes on disk.', () => single(bytesOf(folder)));
  registerRead(registry, 'portcullis_index_watchers', 'Open watches on the index.', 'gauge', () =>
    single(running()?.watchers ?? 0),
  );
}

function bytesOf(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  } catch {
    // The folder does not exist yet, or a file was removed while its size was read.
    return 0;
  }
}
