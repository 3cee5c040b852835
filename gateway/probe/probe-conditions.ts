// What the probe found about a member, as conditions of its cluster.
import type { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord, ClusterStatus, Condition } from '../../cache/model/records.ts';

/** A condition without its transition time, which {@link withTransitions} adds. */
export function condition(type: string, status: Condition['status'], reason: string, message: string): Condition {
  return { type, status, reason, message, lastTransitionTime: '' };
}

/** Whether a member whose `/readyz` was answered can be used, and whether it is ready. */
export function answeredConditions(readyStatus: number): readonly Condition[] {
  const available =
    readyStatus === 401
      ? condition(
          'Available',
          'False',
          'CredentialRefused',
          "the cluster refused the gateway's credential (401); it may have expired",
        )
      : condition('Available', 'True', 'Answering', 'the API server answers');
  // An unauthorized /readyz still came from a live API server; only a 5xx says that it is not ready.
  const readiness =
    readyStatus >= 500
      ? condition('Ready', 'False', 'NotReady', `/readyz answered ${readyStatus}`)
      : condition('Ready', 'True', 'Ready', '/readyz answers');
  return [available, readiness];
}

/** A member that cannot be asked. A silent one is Unknown, like a node whose heartbeat is missing. */
export function failedCondition(fault: GatewayError): Condition {
  const reason = reasonOfCode.get(fault.code) ?? 'Unreachable';
  return condition('Available', isSilence(fault) ? 'Unknown' : 'False', reason, fault.message);
}

/** Whether the member did not answer in time. */
export function isSilence(fault: GatewayError): boolean {
  return fault.code === 'MEMBER_TIMEOUT';
}

const reasonOfCode: ReadonlyMap<string, string> = new Map([
  ['MEMBER_REFUSED', 'ConnectionRefused'],
  ['MEMBER_TIMEOUT', 'NotAnswering'],
  ['MEMBER_TLS', 'CertificateInvalid'],
  ['MEMBER_CREDENTIAL', 'CredentialError'],
  ['MEMBER_PROXY', 'ProxyError'],
  ['CLUSTER_UNUSABLE', 'InvalidConfiguration'],
]);

/** Whether the cluster could be used when it was probed last. */
export function wasAvailable({ status }: ClusterRecord): boolean {
  return status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True');
}

/** The status of a cluster. @param latencyMs undefined when it did not answer */
export function statusOf(
  record: ClusterRecord,
  conditions: readonly Condition[],
  version: string,
  latencyMs: number | undefined,
): ClusterStatus {
  const insecure = record.spec.tls.insecure
    ? [condition('Insecure', 'True', 'InsecureSkipTLSVerify', 'the certificate of the API server is not verified')]
    : [];
  return { conditions: [...conditions, ...insecure], version, latencyMs };
}

/** Keeps the transition time of conditions whose status did not change (metav1.Condition). */
export function withTransitions(old: ClusterStatus, found: ClusterStatus): ClusterStatus {
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

/**
 * The latency to show. One that changed by less than half stays as it was, so that a watch of `clusters` does not print
 * every heartbeat.
 */
export function steady(oldMs: number | undefined, newMs: number): number {
  if (oldMs !== undefined && newMs < oldMs * 1.5 + 5 && newMs > oldMs / 2 - 5) return oldMs;
  return Math.max(1, Math.round(newMs));
}
