// Asks every cluster at a jittered interval how it is: version, readiness, latency, credential, the right to
// impersonate. Probes go out as `portcullis:probe`, a name refused to callers; only the reviews of the gateway's own
// rights go out as the gateway.
import type { ClusterRecord, ClusterSpec, ClusterStatus, Condition, IdentityMode } from '../../cache/model/records.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import { GatewayError } from '../../cache/model/errors.ts';
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
import type { Log } from '../operations/log.ts';

/** How often and how long; milliseconds. */
export interface ProbeTiming {
  readonly intervalMs: number;
  /** Each interval is shortened or stretched by up to this share, so that clusters are not asked in step. */
  readonly jitter: number;
  readonly timeoutMs: number;
}

export const defaultProbeTiming: ProbeTiming = { intervalMs: 10_000, jitter: 0.2, timeoutMs: 5_000 };

/** Time between the first probes of two clusters at the start: about what a handshake and a few requests take. */
const firstProbeMs = 2;

/**
 * Probes a second of all clusters together; with more clusters each is asked less often, since requests learn at once
 * that one is gone.
 */
const probesPerSecond = 100;

/** Rights and version seldom change: they are asked for after this time, or so many intervals if that is longer. */
const rightsIntervalMs = 60_000;
const rightsEveryIntervals = 6;

/** After so many probes without an answer in a row, no more requests are sent. */
const silencesToTrip = 2;

export interface Probe {
  close(): void;
}

/** Gets what concerns requests, for the processes that send them. */
export interface ProbeFindings {
  answered(cluster: ClusterSpec): void;
  /** No requests are to be sent until it has answered. */
  silent(cluster: ClusterSpec, fault: GatewayError): void;
  /** The cluster answered 401. */
  credentialRefused(cluster: ClusterSpec): void;
}

/** What a probe depends on. */
export interface ProbeParts {
  readonly store: ClusterStore;
  readonly connections: Connections;
  readonly identity: IdentityMode;
  /** Why no request can be sent to a cluster although it answers; undefined when requests can. */
  readonly clusterFault?: (cluster: ClusterSpec) => string | undefined;
  readonly log: Log;
  readonly timing?: ProbeTiming;
  readonly findings?: ProbeFindings;
}

/** Starts probing every cluster of the store, now and in the future. */
export function startProbe(parts: ProbeParts): Probe {
  return new RunningProbe(parts);
}

class RunningProbe implements Probe {
  readonly #parts: ProbeParts;
  readonly #timing: ProbeTiming;
  /** The next probe of each cluster, by uid. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** How many probes in a row had no answer, by uid. */
  readonly #silences = new Map<string, number>();
  /** What was found last about the gateway's rights, by uid. */
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
    // Ten thousand handshakes in one moment would keep requests waiting for as long as they take.
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
      // The next change of the record may have mended it.
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

  /** @throws GatewayError (rejects) when the member does not answer */
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
    // An API server that was away may be another version now.
    const isVersionDue = areRightsDue || record.status.version === '' || !wasAvailable(record);
    const version = isVersionDue ? await this.#versionOf(target, record) : record.status.version;
    let impersonation: readonly Condition[] = [];
    if (ready.status !== 401)
      impersonation = areRightsDue ? await this.#rightsOf(uid, target, ready.status) : known.conditions;
    const conditions = [...this.#refusals(record), ...answeredConditions(ready.status), ...impersonation];
    return statusOf(record, conditions, version, steady(record.status.latencyMs, latencyMs));
  }

  #noteAnswer({ spec }: ClusterRecord, uid: string, target: Target, readyStatus: number): void {
    const { findings } = this.#parts;
    this.#silences.delete(uid);
    target.connection.breaker.succeed();
    findings?.answered(spec);
    if (readyStatus !== 401) return;
    spec.credential?.invalidate();
    findings?.credentialRefused(spec);
  }

  /** One slow answer may be a busy member; after two in a row no request should wait for it. */
  #noteFailure({ spec }: ClusterRecord, uid: string, fault: GatewayError): void {
    const silent = isSilence(fault) ? (this.#silences.get(uid) ?? 0) + 1 : 0;
    this.#silences.set(uid, silent);
    if (silent < silencesToTrip) return;
    const { connections, findings } = this.#parts;
    connections.breaker(spec).trip(fault);
    findings?.silent(spec, fault);
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

  /** Why a cluster is of no use to anybody although it answers. */
  #refusals({ spec }: ClusterRecord): readonly Condition[] {
    const fault = this.#parts.identity === 'self' ? undefined : this.#parts.clusterFault?.(spec);
    return fault === undefined ? [] : [condition('IdentityExchangeValid', 'False', 'InvalidIdentityExchange', fault)];
  }
}

/** The time between two probes of a cluster, milliseconds, when so many are probed. */
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
