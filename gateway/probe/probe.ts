// Asks every cluster at a jittered interval how it is: version, readiness, latency, credential, the right to
// impersonate. Easy to get wrong: probes go out as `portcullis:probe`, a name refused to callers; only the selfsubject
// reviews that ask for our own rights do not.
import type { ClusterRecord, ClusterSpec, ClusterStatus, Condition, IdentityMode } from '../../cache/model/records.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Connections } from '../../routing/members/target.ts';
import { locate } from '../../routing/members/target.ts';
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

/** What the first probe of each cluster known at the start is given: a handshake and a few small requests. */
const firstProbeMs = 2;

/**
 * Probes a second of all clusters together; with more clusters each is asked less often, since requests learn at once
 * that one is gone.
 */
const probesPerSecond = 100;

/**
 * Rights and version are asked for again only after this time, or this many intervals where these are longer: they
 * seldom change.
 */
const rightsIntervalMs = 60_000;
const rightsEveryIntervals = 6;

/** Probes without an answer after which requests are no longer sent. */
const silencesToTrip = 2;

export interface Probe {
  close(): void;
}

/** Told of what concerns requests, for whoever sends them from another process. */
export interface ProbeFindings {
  answered(cluster: ClusterSpec): void;
  /** No requests are to be sent until it has answered. */
  silent(cluster: ClusterSpec, fault: GatewayError): void;
  /** The cluster answered 401. */
  credentialRefused(cluster: ClusterSpec): void;
}

/** Starts probing every cluster of the store, now and in the future. */
export function startProbe(parts: {
  readonly store: ClusterStore;
  readonly connections: Connections;
  readonly identity: IdentityMode;
  /** Why nobody can be sent to a cluster however well it answers; undefined when they can. */
  readonly clusterFault?: (cluster: ClusterSpec) => string | undefined;
  readonly log: Log;
  readonly timing?: ProbeTiming;
  readonly findings?: ProbeFindings;
}): Probe {
  const { store, connections, identity, log, findings } = parts;
  const timing = parts.timing ?? defaultProbeTiming;
  const timers = new Map<string, NodeJS.Timeout>();
  const silences = new Map<string, number>();
  const rights = new Map<string, { readonly atMs: number; readonly conditions: readonly Condition[] }>();
  let closed = false;

  const schedule = (uid: string, delayMs: number): void => {
    clearTimeout(timers.get(uid));
    const timer = setTimeout(() => void probe(uid), delayMs);
    timer.unref();
    timers.set(uid, timer);
  };

  const probe = async (uid: string): Promise<void> => {
    const record = store.getByUid(uid);
    if (record === undefined || closed || record.spec.problem !== undefined) return;
    const found = await look(record, uid);
    const now = store.getByUid(uid);
    if (closed || now === undefined) return;
    const status = withTransitions(now.status, found);
    if (store.setStatus(uid, status)) logChange(log, record.spec.name, now.status, status);
    schedule(uid, intervalMs() * (1 + (Math.random() * 2 - 1) * timing.jitter));
  };

  const intervalMs = (): number => probeIntervalMs(timing.intervalMs, timers.size);

  const look = async (record: ClusterRecord, uid: string): Promise<ClusterStatus> => {
    const { name } = record.spec;
    try {
      const target = await locate(name, () => record, connections);
      const startedMs = performance.now();
      const ready = await ask(target, identity, '/readyz', timing.timeoutMs);
      const latencyMs = performance.now() - startedMs;
      silences.delete(uid);
      target.connection.breaker.succeed();
      findings?.answered(record.spec);
      if (ready.status === 401) {
        record.spec.credential?.invalidate();
        findings?.credentialRefused(record.spec);
      }
      const known = rights.get(uid);
      const areRightsDue = known === undefined || performance.now() - known.atMs >= rightsIntervalOf(intervalMs());
      const isVersionDue = areRightsDue || record.status.version === '' || !wasAvailable(record);
      const version = isVersionDue ? await versionOf(target, record, timing.timeoutMs) : record.status.version;
      const available =
        ready.status === 401
          ? condition(
              'Available',
              'False',
              'CredentialRefused',
              "the cluster refused the gateway's credential (401); it may have expired",
            )
          : condition('Available', 'True', 'Answering', 'the API server answers');
      // An unauthorized /readyz still came from a live API server; only a 5xx says that it is not ready.
      const readiness =
        ready.status >= 500
          ? condition('Ready', 'False', 'NotReady', `/readyz answered ${ready.status}`)
          : condition('Ready', 'True', 'Ready', '/readyz answers');
      let impersonation: readonly Condition[] = [];
      if (ready.status !== 401)
        impersonation = areRightsDue ? await rightsOf(uid, target, ready.status) : known.conditions;
      return statusOf(
        record,
        [...refusals(record), available, readiness, ...impersonation],
        version,
        steady(record.status.latencyMs, latencyMs),
      );
    } catch (error) {
      const fault =
        error instanceof GatewayError
          ? error
          : new GatewayError('MEMBER_UNAVAILABLE', 'the probe failed', { cause: error });
      // One slow answer may be a busy member; two in a row is a member that no request should wait for.
      const isSilent = fault.code === 'MEMBER_TIMEOUT';
      const silent = isSilent ? (silences.get(uid) ?? 0) + 1 : 0;
      silences.set(uid, silent);
      if (silent >= silencesToTrip) {
        connections.breaker(record.spec).trip(fault);
        findings?.silent(record.spec, fault);
      }
      return statusOf(
        record,
        // Who is silent may be well behind a network that is not: as with a node whose heartbeat is missing, nobody
        // knows.
        [...refusals(record), condition('Available', isSilent ? 'Unknown' : 'False', reasonOf(fault), fault.message)],
        record.status.version,
        undefined,
      );
    }
  };

  const versionOf = async (
    target: Awaited<ReturnType<typeof locate>>,
    record: ClusterRecord,
    timeoutMs: number,
  ): Promise<string> => {
    const answer = await ask(target, identity, '/version', timeoutMs);
    if (answer.status !== 200) return record.status.version;
    const { gitVersion } = JSON.parse(answer.body.toString('utf8')) as { gitVersion?: unknown };
    return typeof gitVersion === 'string' ? gitVersion.slice(0, 100) : '';
  };

  const rightsOf = async (
    uid: string,
    target: Awaited<ReturnType<typeof locate>>,
    readyStatus: number,
  ): Promise<readonly Condition[]> => {
    const findings =
      identity === 'self'
        ? []
        : [
            await impersonationFinding(target, timing.timeoutMs, readyStatus),
            await scopeFinding(target, timing.timeoutMs),
          ];
    const conditions = findings.flatMap((found) => (found === undefined ? [] : [{ ...found, lastTransitionTime: '' }]));
    rights.set(uid, { atMs: performance.now(), conditions });
    return conditions;
  };

  /** The cluster may answer well and still be of no use to anybody. */
  const refusals = ({ spec }: ClusterRecord): readonly Condition[] => {
    const fault = identity === 'self' ? undefined : parts.clusterFault?.(spec);
    return fault === undefined ? [] : [condition('IdentityExchangeValid', 'False', 'InvalidIdentityExchange', fault)];
  };

  const unsubscribe = store.subscribe(({ type, record }) => {
    const { uid } = record.spec;
    if (type === 'DELETED') {
      clearTimeout(timers.get(uid));
      timers.delete(uid);
      rights.delete(uid);
      silences.delete(uid);
    } else if (type === 'ADDED' || !timers.has(uid)) schedule(uid, Math.random() * 200);
  });
  const known = store.list();
  // Ten thousand handshakes in one moment would keep everybody else waiting for as long as they take.
  const spreadMs = Math.min(timing.intervalMs, known.length * firstProbeMs);
  for (const record of known) schedule(record.spec.uid, Math.random() * spreadMs);
  return {
    close() {
      closed = true;
      unsubscribe();
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

/** The time between two probes of a cluster, milliseconds, when so many are probed. */
export function probeIntervalMs(wantedMs: number, clusters: number): number {
  return Math.max(wantedMs, (clusters * 1000) / probesPerSecond);
}

function rightsIntervalOf(intervalMs: number): number {
  return Math.max(rightsIntervalMs, rightsEveryIntervals * intervalMs);
}

/** An API server that was away may be another version now. */
function wasAvailable({ status }: ClusterRecord): boolean {
  return status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True');
}

function condition(type: string, status: Condition['status'], reason: string, message: string): Condition {
  return { type, status, reason, message, lastTransitionTime: '' };
}

function statusOf(
  record: ClusterRecord,
  conditions: readonly (Condition | undefined)[],
  version: string,
  latencyMs: number | undefined,
): ClusterStatus {
  const insecure = record.spec.tls.insecure
    ? [condition('Insecure', 'True', 'InsecureSkipTLSVerify', 'the certificate of the API server is not verified')]
    : [];
  return { conditions: [...conditions.filter((one) => one !== undefined), ...insecure], version, latencyMs };
}

/** Keeps the transition time of conditions whose status did not change (metav1.Condition). */
function withTransitions(old: ClusterStatus, found: ClusterStatus): ClusterStatus {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    ...found,
    ...(old.indexed === undefined ? {} : { indexed: old.indexed }),
    conditions: found.conditions.map((one) => {
      const before = old.conditions.find((other) => other.type === one.type);
      return { ...one, lastTransitionTime: before?.status === one.status ? before.lastTransitionTime : now };
    }),
  };
}

/** A latency that changed by less than half is the old one: a watch of `clusters` should not print every heartbeat. */
function steady(oldMs: number | undefined, newMs: number): number {
  if (oldMs !== undefined && newMs < oldMs * 1.5 + 5 && newMs > oldMs / 2 - 5) return oldMs;
  return Math.max(1, Math.round(newMs));
}

const reasonOfCode: ReadonlyMap<string, string> = new Map([
  ['MEMBER_REFUSED', 'ConnectionRefused'],
  ['MEMBER_TIMEOUT', 'NotAnswering'],
  ['MEMBER_TLS', 'CertificateInvalid'],
  ['MEMBER_CREDENTIAL', 'CredentialError'],
  ['MEMBER_PROXY', 'ProxyError'],
  ['CLUSTER_UNUSABLE', 'InvalidConfiguration'],
]);

function reasonOf(error: GatewayError): string {
  return reasonOfCode.get(error.code) ?? 'Unreachable';
}

function logChange(log: Log, cluster: string, old: ClusterStatus, found: ClusterStatus): void {
  const before = old.conditions.find(({ type }) => type === 'Available');
  const after = found.conditions.find(({ type }) => type === 'Available');
  if (before?.status === after?.status && before?.reason === after?.reason) return;
  const level = after?.status === 'True' ? 'info' : 'warn';
  log[level]({ cluster, available: after?.status, reason: after?.reason, detail: after?.message }, 'cluster changed');
}
