// Metrics of the audit log. A request only increments plain numbers, which is cheap; prom-client reads the numbers when
// metrics are scraped.
import type { Registry } from 'prom-client';
import { by, registerRead, single } from '../operations/read-metric.ts';
import type { Aggregator, MetricValues } from '../operations/read-metric.ts';
import type { AuditSink } from './sinks/sink.ts';

/** Counters of the audit log. They only grow while the process runs. */
export interface AuditCounts {
  /** Number of audit events written. */
  events: number;
  /** How many requests were audited at level None (no event is written), and how many at level Metadata. */
  none: number;
  metadata: number;
  /** Number of requests that were answered 503 because their audit events could not be stored. */
  refused: number;
  /** For each sink (file, webhook): number of events that were not recorded because the sink was full. */
  readonly dropped: Map<AuditSink['name'], number>;
  /** For each sink: number of failed attempts to store events. */
  readonly failed: Map<AuditSink['name'], number>;
  /** For each sink: number of events that it had accepted but could never store. */
  readonly lost: Map<AuditSink['name'], number>;
}

export function makeAuditCounts(sinks: readonly AuditSink['name'][]): AuditCounts {
  const zeros = (): Map<AuditSink['name'], number> => new Map(sinks.map((name) => [name, 0]));
  return { events: 0, none: 0, metadata: 0, refused: 0, dropped: zeros(), failed: zeros(), lost: zeros() };
}

/** Adds `by` to the counter of one sink. */
export function count(counts: Map<AuditSink['name'], number>, name: AuditSink['name'], by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/**
 * Registers the metrics of the audit log.
 * @param spoolBytes bytes that wait on disk for the webhook; undefined without a webhook
 */
export function registerAuditMetrics(
  registry: Registry,
  counts: AuditCounts,
  sinks: () => readonly AuditSink[],
  spoolBytes: (() => number) | undefined,
): void {
  const counter = (name: string, help: string, values: () => MetricValues): void =>
    registerRead(registry, name, help, 'counter', values);
  counter('portcullis_audit_event_total', 'Audit events made.', () => single(counts.events));
  counter('portcullis_audit_level_total', 'Requests by audit level.', () =>
    by('level', [
      ['None', counts.none],
      ['Metadata', counts.metadata],
    ]),
  );
  counter(
    'portcullis_audit_requests_rejected_total',
    'Requests refused because their events could not be stored.',
    () => single(counts.refused),
  );
  counter('portcullis_audit_dropped_total', 'Audit events a full sink did not take.', () =>
    by('plugin', counts.dropped),
  );
  counter('portcullis_audit_error_total', 'Failed attempts to store audit events.', () => by('plugin', counts.failed));
  counter('portcullis_audit_lost_total', 'Audit events taken and never stored.', () => by('plugin', counts.lost));
  const gauge = (name: string, help: string, values: () => MetricValues, aggregator?: Aggregator): void =>
    registerRead(registry, name, help, 'gauge', values, aggregator);
  gauge(
    'portcullis_audit_accepting',
    '0 while a sink is full and requests are refused or go on unrecorded.',
    () =>
      by(
        'plugin',
        sinks().map(({ name, accepting }) => [name, accepting ? 1 : 0]),
      ),
    'min',
  );
  if (spoolBytes === undefined) return;
  gauge('portcullis_audit_spool_bytes', 'Bytes of audit events that wait on disk for the webhook.', () =>
    single(spoolBytes()),
  );
}
