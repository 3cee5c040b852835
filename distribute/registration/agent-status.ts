// The status that an agent of OCM writes into its ManagedCluster, as far as the gateway knows the same: that the
// cluster joined, whether it is available, and its version. Types, statuses and reasons are those of OCM's agent. The
// messages are the gateway's own, and tell its conditions from those of an agent.
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { conditionsOf, findCondition, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import type { ClusterRecord } from '../../model/records.ts';

const acceptedType = 'HubAcceptedManagedCluster';
const joinedType = 'ManagedClusterJoined';
const availableType = 'ManagedClusterConditionAvailable';
const clockType = 'ManagedClusterConditionClockSynced';
/** With this begin the messages of the gateway's conditions. */
const ownWords = 'Portcullis: ';

/** Whether an administrator of the hub has accepted the cluster, and the hub's controllers have done their part. */
export function isAccepted(cluster: ApiObject): boolean {
  return (
    !isDeleting(cluster) &&
    fieldOf(cluster, 'spec', 'hubAcceptsClient') === true &&
    findCondition(conditionsOf(cluster), acceptedType)?.status === 'True'
  );
}

/** Whether somebody else than this gateway wrote that the cluster joined, or whether it is available. */
export function isAgentSeen(cluster: ApiObject): boolean {
  const joined = findCondition(conditionsOf(cluster), joinedType);
  return isOtherAvailable(cluster) || (joined?.status === 'True' && !isOwn(joined));
}

/** Whether somebody else wrote last that the cluster is available or not. Unknown is what OCM's hub writes. */
export function isOtherAvailable(cluster: ApiObject): boolean {
  const available = findCondition(conditionsOf(cluster), availableType);
  return available !== undefined && available.status !== 'Unknown' && !isOwn(available);
}

/** Whether this gateway wrote last whether the cluster is available. */
export function isOwnAvailable(cluster: ApiObject): boolean {
  const available = findCondition(conditionsOf(cluster), availableType);
  return available !== undefined && isOwn(available);
}

/** What the probe says; undefined when it did not ask yet, or does not know. */
export function probeOf(record: ClusterRecord | undefined): 'True' | 'False' | undefined {
  const status = record?.status.conditions.find(({ type }) => type === 'Available')?.status;
  return status === 'True' || status === 'False' ? status : undefined;
}

/**
 * Returns the merge patch of the ManagedCluster's status that makes it say what the record says; undefined when it does
 * so already.
 */
export function agentStatusPatch(cluster: ApiObject, { status }: ClusterRecord): object | undefined {
  const before = conditionsOf(cluster);
  // OCM's agents write nothing either while the clocks differ: what they say would be judged by the wrong time.
  if (findCondition(before, clockType)?.status === 'False') return undefined;
  const available = status.conditions.find(({ type }) => type === 'Available');
  const isAvailable = available?.status === 'True';
  const findings = [availability(isAvailable, available?.reason ?? '')];
  if (findCondition(before, joinedType)?.status !== 'True') findings.push(joined);
  const conditions = withConditions(before, findings, undefined);
  const old = fieldOf(cluster, 'status', 'version', 'kubernetes');
  const isNewVersion = isAvailable && status.version !== '' && status.version !== old;
  const isSame = isDeepStrictEqual(before, conditions);
  if (isSame && !isNewVersion) return undefined;
  return { ...(!isSame && { conditions }), ...(isNewVersion && { version: { kubernetes: status.version } }) };
}

const joined: Finding = {
  type: joinedType,
  status: 'True',
  reason: 'ManagedClusterJoined',
  message: `${ownWords}the managed cluster joined`,
};

/** @param reason reason of the probe, which holds no address, unlike its message */
function availability(isAvailable: boolean, reason: string): Finding {
  return isAvailable
    ? {
        type: availableType,
        status: 'True',
        reason: 'ManagedClusterAvailable',
        message: `${ownWords}the managed cluster is available`,
      }
    : {
        type: availableType,
        status: 'False',
        reason: 'ManagedClusterKubeAPIServerUnavailable',
        message: `${ownWords}the kube-apiserver is not ok: ${reason}`,
      };
}

function isOwn({ message }: Pick<Finding, 'message'>): boolean {
  return typeof message === 'string' && message.startsWith(ownWords);
}
