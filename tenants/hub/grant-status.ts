// Computes the conditions of a TenantBinding or ClusterPermission, which sum up the results of all its clusters.
import { listed } from '../../lib/text/listed.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { ClusterResult } from '../object/grant.ts';

export interface Overall {
  readonly results: ReadonlyMap<string, ClusterResult>;
  /** Why nothing is granted in any cluster; undefined when there is no such reason. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  readonly isExpired: boolean;
  readonly undecided: readonly string[];
  readonly appliedType: string;
}

/** Returns two conditions: whether every chosen cluster has the rights, and whether nothing is left to be done. */
export function overallFindings({
  results,
  fault,
  isExpired,
  undecided,
  appliedType: type,
}: Overall): readonly Finding[] {
  const open = [...results].filter(([, { phase }]) => phase === 'Pending' || phase === 'Error');
  const reported = open.map(([name, { message, reason }]) => `${name}: ${message || reason}`);
  const waiting = listed(reported, 5, '; ');
  const applied = (status: Finding['status'], reason: string, message: string): Finding => ({
    type,
    status,
    reason,
    message,
  });
  const isDone = open.length === 0 && undecided.length === 0;
  const complete: Finding = {
    type: 'Complete',
    status: isDone && fault === undefined ? 'True' : 'False',
    reason: isDone && fault === undefined ? (isExpired ? 'Expired' : 'Complete') : 'Unfinished',
    message: undecided.length === 0 ? waiting : `these placements have no decisions: ${undecided.join(', ')}`,
  };
  if (fault !== undefined)
    return [applied('False', fault.reason, fault.message), { ...complete, message: fault.message }];
  if (isExpired) return [applied('False', 'Expired', 'expiresAt is over; every right is taken back'), complete];
  if (open.some(([, { phase }]) => phase === 'Error')) return [applied('False', 'Error', waiting), complete];
  if (!isDone) return [applied('False', 'Pending', complete.message), complete];
  return [applied('True', 'Applied', 'every chosen cluster has the rights'), complete];
}
