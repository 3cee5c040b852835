// Whether a member that has joined can be used: it is registered with the gateway, it answers, and the conditions that
// the readiness-gates annotation names are True.
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { conditionsOf, findCondition, type Finding } from '../../kube/objects/conditions.ts';
import { gatesOf } from '../object/cluster-join.ts';
import type { JoinStatus } from './join-status.ts';

/** The condition `Ready` of a ClusterJoin, without its type. */
export type Readiness = Omit<Finding, 'type'>;

/**
 * Computes the condition `Ready`.
 * @param record the cluster record; undefined when no source of the gateway has read the ClusterJoin's Secret yet
 * @param managed the ManagedCluster of the same name, whose conditions and readiness gates are used too
 */
export function readinessOf(
  join: ApiObject,
  status: JoinStatus,
  record: ClusterRecord | undefined,
  managed: ApiObject | undefined,
): Readiness {
  for (const type of ['Reached', 'Verified']) {
    const condition = status.condition(type);
    if (condition?.status === 'False') return not(condition.reason, condition.message);
  }
  if (status.memory.credential === undefined) return not(...unfinished(status));
  if (record === undefined) return not('NotRegistered', 'the gateway does not have the cluster in its sources yet');
  const available = record.status.conditions.find(({ type }) => type === 'Available');
  if (available?.status !== 'True') return not('NotAvailable', available?.message ?? 'the cluster was not probed yet');
  const all = [...conditionsOf(join), ...(managed === undefined ? [] : conditionsOf(managed))];
  const gates = [...new Set([...gatesOf(join), ...gatesOf(managed)])];
  const waiting = gates.filter((gate) => findCondition(all.filter(isTrue), gate) === undefined);
  if (waiting.length > 0) return not('ReadinessGatesNotReady', `waiting for: ${waiting.join(', ')}`);
  return { status: 'True', reason: 'Ready', message: 'the cluster can be used' };
}

function isTrue({ status }: { readonly status: string }): boolean {
  return status === 'True';
}

function not(reason: string, message: string): Readiness {
  return { status: 'False', reason, message };
}

/** Reason and message of the first step that failed; a general one when none has. */
function unfinished(status: JoinStatus): readonly [reason: string, message: string] {
  for (const type of ['RightsSufficient', 'Installed', 'CredentialIssued']) {
    const condition = status.condition(type);
    if (condition?.status === 'False') return [condition.reason, condition.message];
  }
  return ['NotJoined', 'the cluster has not joined yet'];
}
