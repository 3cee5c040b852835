// Probes every cluster regularly: version, readiness, latency, and what the gateway's credential may do. Probes
// impersonate the user `portcullis:probe`, a name that callers cannot have. Only reviews of the gateway's own rights
// are sent as the gateway itself.
import type { ClusterRecord, ClusterSpec, ClusterStatus, Condition, IdentityMode } from '../../model/records.ts';
import type { ClusterStore } from '../../model/store.ts';
import { GatewayError } from '../../model/errors.ts';
import type { Connections } from '../../routing/members/target.ts';
import { locate } from '../../routing/members/target.ts';
import type { Target } from '../../routing/members/target.ts';
import {
  answeredConditions,
  condition,
  failedCondition,
  isSilence,
  statusOf,
  steady,
  wasAvailable,
  withTransitions,
} from './probe-conditions.ts';
import { ask } from './probe-request.ts';
import { impersonationFinding } from './probe-rights.ts';
import { scopeFinding } from './probe-scope.ts';
import type { Log } from '../../lib/log.ts';

/** Interval and timeout of probes, in milliseconds. */
export interface ProbeTiming {
  readonly intervalMs: number;
  /**
   * Share from 0 to 1. Each interval is changed by a random part of up to this share, shorter or longer, so that not
   * all clusters are probed at the same moment.
   */
  readonly jitter: number;
  readonly timeoutMs: number;
}

export const defaultProbeTiming: ProbeTiming = { intervalMs: 10_000, jitter: 0.2, timeoutMs: 5_000 };

/**
 * At the start, the mean time in milliseconds between the first probes of two clusters: about the time of a handshake
 * and a few requests.
 */
const firstProbeMs = 2;

/**
 * Maximum number of probes per second for all clusters together. With many clusters, each cluster is probed less often.
 * This does no harm, since a request notices at once when its cluster does not answer.
 */
const probesPerSecond = 100;

/**
 * A cluster's version and the gateway's rights in it seldom change. They are asked for again after this many
 * milliseconds, or after six probe intervals if that is longer.
 */
const rightsIntervalMs = 60_000;
const rightsEveryIntervals = 6;

/** After this many probes in a row without an answer, requests to the cluster are refused without being sent. */
const silencesToTrip = 2;

/** What {@link startProbe} needs. */
export interface ProbeParts {
  readonly store: ClusterStore;
  readonly connections: Connections;
  readonly identity: IdentityMode;
  /**
   * Why the gateway must not send requests to a cluster although the cluster answers; undefined when it may send them.
   */
  readonly clusterFault?: (cluster: ClusterSpec) => string | undefined;
  readonly log: Log;
  readonly timing?: ProbeTiming;
}

/** Starts to probe every cluster of the store, also those that are added later. */
export function startProbe(parts: ProbeParts): Probe {
  return new RunningProbe(parts);
}

/** The running probe of all clusters. */
export type Probe = Pick<RunningProbe, keyof RunningProbe>;

class RunningProbe {
  readonly #parts: ProbeParts;
  readonly #timing: ProbeTiming;
  /** Timer of the next probe of each cluster, by the cluster's UID. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** How many probes in a row had no answer, by the cluster's UID. */
  readonly #silences = new Map<string, number>();
  /** When and with which result each cluster was last asked about the gateway's rights, by the cluster's UID. */
  readonly #rights = new Map<string, { readonly atMs: number; readonly conditions: readonly Condition[] }>();
  readonly #unsubscribe: () => void;
  #closed = false;

  constructor(parts: ProbeParts) {
    this.#parts = parts;
    this.#timing = parts.timing ?? defaultProbeTiming;
    this.#unsubscribe = parts.store.subscribe(({ type, record }) => {
      const { uid } = record.spec;
      if (type === 'DELETED') this.#forget(uid);
      else if (type === 'ADDED' || !this.#timers.has(uid)) this.#schedule(uid, Math.random() * 200);
    });
    const known = parts.store.list();
    // At the start, the first probes are spread over time. Ten thousand handshakes at once would delay requests of
    // callers.
    const spreadMs = Math.min(this.#timing.intervalMs, known.length * firstProbeMs);
    for (const record of known) this.#schedule(record.spec.uid, Math.random() * spreadMs);
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #forget(uid: string): void {
    clearTimeout(this.#timers.get(uid));
    this.#timers.delete(uid);
    this.#rights.delete(uid);
    this.#silences.delete(uid);
  }

  #schedule(uid: string, delayMs: number): void {
    clearTimeout(this.#timers.get(uid));
    const timer = setTimeout(() => void this.#probe(uid), delayMs);
    timer.unref();
    this.#timers.set(uid, timer);
  }

  get #intervalMs(): number {
    return probeIntervalMs(this.#timing.intervalMs, this.#timers.size);
  }

  async #probe(uid: string): Promise<void> {
    const { store, log } = this.#parts;
    const record = store.getByUid(uid);
    if (record === undefined || this.#closed) return;
    if (record.spec.problem !== undefined) {
      // The cluster cannot be used, for example because it has no address, so it is not probed. It is probed again
      // after the next change of its record, which may remove the problem.
      this.#timers.delete(uid);
      return;
    }
    const found = await this.#look(record, uid);
    const now = store.getByUid(uid);
    if (this.#closed || now === undefined) return;
    const status = withTransitions(now.status, found);
    if (store.setStatus(uid, status)) logChange(log, record.spec.name, now.status, status);
    this.#schedule(uid, this.#intervalMs * (1 + (Math.random() * 2 - 1) * this.#timing.jitter));
  }

  async #look(record: ClusterRecord, uid: string): Promise<ClusterStatus> {
    try {
      return await this.#ask(record, uid);
    } catch (error) {
      const fault =
        error instanceof GatewayError
          ? error
          : new GatewayError('MEMBER_UNAVAILABLE', 'the probe failed', { cause: error });
      this.#noteFailure(record, uid, fault);
      const conditions = [...this.#refusals(record), failedCondition(fault)];
      return statusOf(record, conditions, record.status.version, undefined);
    }
  }

  /**
   * Probes one cluster.
   * @throws GatewayError (rejects) when the cluster does not answer
   */
  async #ask(record: ClusterRecord, uid: string): Promise<ClusterStatus> {
    const { identity, connections } = this.#parts;
    const { timeoutMs } = this.#timing;
    const target = await locate(record.spec.name, () => record, connections);
    const startedMs = performance.now();
    const ready = await ask(target, identity, '/readyz', timeoutMs);
    const latencyMs = performance.now() - startedMs;
    this.#noteAnswer(record, uid, target, ready.status);
    const known = this.#rights.get(uid);
    const areRightsDue = known === undefined || performance.now() - known.atMs >= rightsIntervalOf(this.#intervalMs);
    // An API server that was not available may have been upgraded in the meantime, so its version is asked for again.
    const isVersionDue = areRightsDue || record.status.version === '' || !wasAvailable(record);
    const version = isVersionDue ? await this.#versionOf(target, record) : record.status.version;
    let impersonation: readonly Condition[] = [];
    if (ready.status !== 401)
      impersonation = areRightsDue ? await this.#rightsOf(uid, target, ready.status) : known.conditions;
    const conditions = [...this.#refusals(record), ...answeredConditions(ready.status), ...impersonation];
    return statusOf(record, conditions, version, steady(record.status.latencyMs, latencyMs));
  }

  #noteAnswer({ spec }: ClusterRecord, uid: string, target: Target, readyStatus: number): void {
    this.#silences.delete(uid);
    target.connection.breaker.succeed();
    if (readyStatus === 401) spec.credential?.invalidate();
  }

  /**
   * Counts a probe without an answer. After one such probe, the cluster may just be busy. After two in a row, requests
   * to the cluster are refused at once instead of waiting.
   */
  #noteFailure({ spec }: ClusterRecord, uid: string, fault: GatewayError): void {
    const silent = isSilence(fault) ? (this.#silences.get(uid) ?? 0) + 1 : 0;
    this.#silences.set(uid, silent);
    if (silent >= silencesToTrip) this.#parts.connections.breaker(spec).trip(fault);
  }

  async #versionOf(target: Target, record: ClusterRecord): Promise<string> {
    const answer = await ask(target, this.#parts.identity, '/version', this.#timing.timeoutMs);
    if (answer.status !== 200) return record.status.version;
    const { gitVersion } = JSON.parse(answer.body.toString('utf8')) as { gitVersion?: unknown };
    return typeof gitVersion === 'string' ? gitVersion.slice(0, 100) : '';
  }

  async #rightsOf(uid: string, target: Target, readyStatus: number): Promise<readonly Condition[]> {
    const { timeoutMs } = this.#timing;
    const findings =
      this.#parts.identity === 'self'
        ? []
        : [await impersonationFinding(target, timeoutMs, readyStatus), await scopeFinding(target, timeoutMs)];
    const conditions = findings.flatMap((found) => (found === undefined ? [] : [{ ...found, lastTransitionTime: '' }]));
    this.#rights.set(uid, { atMs: performance.now(), conditions });
    return conditions;
  }

  /**
   * The condition of a cluster that answers but to which the gateway sends no requests, because its identity rules are
   * invalid.
   */
  #refusals({ spec }: ClusterRecord): readonly Condition[] {
    const fault = this.#parts.identity === 'self' ? undefined : this.#parts.clusterFault?.(spec);
    return fault === undefined ? [] : [condition('IdentityExchangeValid', 'False', 'InvalidIdentityExchange', fault)];
  }
}

/**
 * Milliseconds between two probes of one cluster.
 * @param wantedMs the configured interval
 * @param clusters number of clusters that are probed
 */
export function probeIntervalMs(wantedMs: number, clusters: number): number {
  return Math.max(wantedMs, (clusters * 1000) / probesPerSecond);
}

function rightsIntervalOf(intervalMs: number): number {
  return Math.max(rightsIntervalMs, rightsEveryIntervals * intervalMs);
}

function logChange(log: Log, cluster: string, old: ClusterStatus, found: ClusterStatus): void {
  const before = old.conditions.find(({ type }) => type === 'Available');
  const after = found.conditions.find(({ type }) => type === 'Available');
  if (before?.status === after?.status && before?.reason === after?.reason) return;
  const level = after?.status === 'True' ? 'info' : 'warn';
  log[level]({ cluster, available: after?.status, reason: after?.reason, detail: after?.message }, 'cluster changed');
}
