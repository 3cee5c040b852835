// Turns the results of a health probe into the conditions of the cluster.
import type { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord, ClusterStatus, Condition } from '../../model/records.ts';

/** A condition without lastTransitionTime; {@link withTransitions} adds it. */
export function condition(type: string, status: Condition['status'], reason: string, message: string): Condition {
  return { type, status, reason, message, lastTransitionTime: '' };
}

/**
 * The conditions `Available` and `Ready` of a cluster that has answered the probe's request for `/readyz`.
 * @param readyStatus HTTP status of this answer
 */
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
  // A 401 or 403 from /readyz still comes from a running API server. Only a 5xx means that the API server is not ready.
  const readiness =
    readyStatus >= 500
      ? condition('Ready', 'False', 'NotReady', `/readyz answered ${readyStatus}`)
      : condition('Ready', 'True', 'Ready', '/readyz answers');
  return [available, readiness];
}

/**
 * The condition `Available` of a cluster that could not be probed. When the cluster did not answer in time, the status
 * is Unknown, like that of a node whose heartbeat is missing; for other errors it is False.
 */
export function failedCondition(fault: GatewayError): Condition {
  const reason = reasonOfCode.get(fault.code) ?? 'Unreachable';
  return condition('Available', isSilence(fault) ? 'Unknown' : 'False', reason, fault.message);
}

/** Whether the error means that the cluster did not answer in time. */
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

/** Whether the cluster was available at its last probe. */
export function wasAvailable({ status }: ClusterRecord): boolean {
  return status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True');
}

/**
 * The status of a cluster, from the results of a probe.
 * @param latencyMs how long the cluster took to answer; undefined when there was no answer
 */
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

/**
 * Sets lastTransitionTime to now, except in conditions whose status did not change: they keep their time, as usual for
 * metav1.Condition.
 */
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
 * The latency to show, in milliseconds. The old value is kept unless the new one differs by about half or more, so that
 * a watch of `clusters` does not get an event at every probe.
 */
export function steady(oldMs: number | undefined, newMs: number): number {
  if (oldMs !== undefined && newMs < oldMs * 1.5 + 5 && newMs > oldMs / 2 - 5) return oldMs;
  return Math.max(1, Math.round(newMs));
}
