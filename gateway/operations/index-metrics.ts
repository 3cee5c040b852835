// Metrics of the index. They are registered when the gateway starts and have no values until the index runs.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Index } from '../../search/index.ts';
import type { DatabaseStatus } from '../../store/postgres/store.ts';
import { by, registerRead, single } from './read-metric.ts';
import type { MetricValues } from './read-metric.ts';

type TypeStates = ReturnType<Index['state']>[number]['types'];

/**
 * Registers the metrics of the index.
 * @param running returns the index; undefined while it is not started
 * @param folder folder in which the index is stored; undefined when it is stored in a database
 */
export function registerIndexMetrics(
  registry: Registry,
  running: () => Index | undefined,
  folder: string | undefined,
): void {
  const perCluster = (read: (types: TypeStates) => number) => (): MetricValues =>
    (running()?.state() ?? []).map(({ cluster, types }) => ({ labels: { cluster }, value: read(types) }));
  // Worker processes share one index and report the same values, so the values of several workers are combined by `max`
  // and not added up.
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
    'Types selected for the index that are not completely in it or not being watched, by cluster.',
    perCluster(
      (types) => types.filter(({ isChosen, isWhole, phase }) => isChosen && (!isWhole || phase !== 'watching')).length,
    ),
  );
  gauge(
    'portcullis_index_left_out_objects',
    'Objects of a cluster that the index cannot store, such as a Role with a name of more than 512 bytes.',
    perCluster((types) => types.reduce((sum, { leftOut }) => sum + (leftOut?.count ?? 0), 0)),
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
  if (folder === undefined) {
    registerRead(registry, 'portcullis_index_shards', 'Shards of the index that this process follows.', 'gauge', () => {
      const shards = running()?.shards?.();
      return shards === undefined ? [] : single(shards);
    });
  }
  if (folder === undefined) registerDatabaseMetrics(registry, () => running()?.database?.());
  else gauge('portcullis_index_bytes', 'What the index takes on disk.', () => single(bytesOf(folder)));
  registerRead(registry, 'portcullis_index_watchers', 'Open watches on the index.', 'gauge', () =>
    single(running()?.watchers ?? 0),
  );
}

/** Metrics of an index in PostgreSQL. */
function registerDatabaseMetrics(registry: Registry, status: () => DatabaseStatus | undefined): void {
  const register = (
    name: string,
    help: string,
    type: 'gauge' | 'counter',
    values: (now: DatabaseStatus) => MetricValues,
    aggregator: 'sum' | 'max' | 'min' = 'sum',
  ): void => {
    const read = (): MetricValues => {
      const now = status();
      return now === undefined ? [] : values(now);
    };
    registerRead(registry, `portcullis_index_${name}`, help, type, read, aggregator);
  };
  register(
    'database_up',
    'Whether the database of the index answered when it was asked last.',
    'gauge',
    ({ fault }) => single(fault === undefined ? 1 : 0),
    'min',
  );
  register(
    'database_lag_seconds',
    'Time since the database of the index last said which change is the newest.',
    'gauge',
    ({ lagMs }) => single(lagMs / 1000),
    'max',
  );
  register('database_connections', 'Connections to the database of the index, by state.', 'gauge', ({ pool }) =>
    by('state', [
      ['used', pool.open - pool.idle],
      ['idle', pool.idle],
    ]),
  );
  register('database_waiting', 'Questions that wait for a connection to the database.', 'gauge', ({ pool }) =>
    single(pool.waiting),
  );
  register('commits_total', 'Transactions of this process that changed the index.', 'counter', ({ commits }) =>
    single(commits),
  );
  register(
    'sequencer_seconds_total',
    'Time that writes took to get sequence numbers for their changes, mostly waiting for other commits.',
    'counter',
    ({ sequencerWaitMs }) => single(sequencerWaitMs / 1000),
  );
  register(
    'log_age_seconds',
    'Age of the oldest change from which a watch of the index can go on.',
    'gauge',
    ({ logAgeMs }) => single(logAgeMs / 1000),
    'max',
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
