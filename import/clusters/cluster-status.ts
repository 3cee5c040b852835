// Makes the status of a PediaCluster, with the conditions, reasons and messages that Clusterpedia's tools wait for.
import { fieldOf, listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import { conditionsOf, generationOf, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import type { ClusterFacts, SyncedType } from './cluster-facts.ts';

/**
 * Clusterpedia's message for a PediaCluster whose `syncResourcesRefName` names a ClusterSyncResources that does not
 * exist.
 */
const missingReference = 'Warning: sync resource ref is not found';

/**
 * Returns the whole status of a PediaCluster, from what the gateway knows of the cluster now.
 * @param syncResources the ClusterSyncResources that the PediaCluster names; undefined when it does not exist
 * @param shardingName shard of this gateway
 */
export function statusOf(
  cluster: ApiObject,
  facts: ClusterFacts,
  syncResources: ApiObject | undefined,
  shardingName: string,
): object {
  const validated = validatedOf(cluster, facts, syncResources);
  const running = runningOf(validated, facts);
  const healthy = healthyOf(running, facts);
  const found = [validated, running, healthy, readyOf([validated, running, healthy])];
  // If a value is not known now, the value that the status has is kept.
  const apiserver = facts.apiserver || textAt(cluster, 'spec', 'apiserver') || textAt(cluster, 'status', 'apiserver');
  const version = facts.version || textAt(cluster, 'status', 'version');
  return {
    ...(apiserver === '' ? {} : { apiserver }),
    ...(version === '' ? {} : { version }),
    // As in Clusterpedia, the shard is written once SynchroRunning was True for the first time.
    ...(running.status === 'True' || shardOf(cluster) !== undefined ? { shardingName } : {}),
    conditions: withConditions(conditionsOf(cluster), found, generationOf(cluster)),
    syncResources: syncedGroups(cluster, facts.sync?.types ?? [], syncResources),
  };
}

function validatedOf(
  cluster: ApiObject,
  { problem, sync }: ClusterFacts,
  syncResources: ApiObject | undefined,
): Finding {
  const type = 'Validated';
  if (problem !== undefined)
    return { type, status: 'False', reason: 'InvalidConfig', message: `invalid cluster config: ${problem}` };
  const isMissing = textAt(cluster, 'spec', 'syncResourcesRefName') !== '' && syncResources === undefined;
  const notes = [...(isMissing ? [missingReference] : []), ...(sync?.refused ?? [])];
  return { type, status: 'True', reason: 'Validated', message: notes.join('; ') };
}

function runningOf(validated: Finding, { sync, sameAs }: ClusterFacts): Finding {
  const type = 'SynchroRunning';
  if (validated.status !== 'True') return { ...validated, type };
  if (sameAs !== undefined)
    return {
      type,
      status: 'False',
      reason: 'SameCluster',
      message: `its objects are in the index as cluster "${sameAs}"`,
    };
  if (sync?.isRunning === true)
    return { type, status: 'True', reason: 'Running', message: 'cluster synchro is running' };
  if (sync === undefined || sync.fault === '')
    return { type, status: 'False', reason: 'WaitInit', message: 'pediacluster is validated' };
  return { type, status: 'False', reason: 'InitialFailed', message: sync.fault };
}

function healthyOf(running: Finding, { health }: ClusterFacts): Finding {
  const type = 'ClusterHealthy';
  if (running.status !== 'True' || health === undefined)
    return { type, status: 'Unknown', reason: 'MonitorStop', message: 'wait cluster synchro' };
  if (health.isHealthy) return { type, status: 'True', reason: 'Healthy', message: 'cluster health responded with ok' };
  return { type, status: 'False', reason: 'NotReachable', message: health.message };
}

function readyOf(conditions: readonly Finding[]): Finding {
  const bad = conditions.find(({ status }) => status !== 'True');
  if (bad === undefined) return { type: 'Ready', status: 'True', reason: 'Ready', message: '' };
  const message = `${bad.type} condition is ${bad.status}, reason is ${bad.reason}`;
  return { type: 'Ready', status: 'False', reason: 'NotReady', message };
}

/**
 * The list `status.syncResources`: the types by API group, in the order of the PediaCluster's `syncResources`. A type
 * whose status is unchanged keeps its `lastTransitionTime`.
 */
function syncedGroups(
  cluster: ApiObject,
  types: readonly SyncedType[],
  syncResources: ApiObject | undefined,
): readonly object[] {
  const configured = [...listAt(cluster, 'spec', 'syncResources'), ...listAt(syncResources, 'spec', 'syncResources')];
  const groups = [...new Set([...configured.map((each) => textAt(each, 'group')), ...types.map(({ group }) => group)])];
  const named = configured.flatMap((each) => textsAt(each, 'resources').map((name) => name.toLowerCase()));
  const place = ({ resource, kind }: SyncedType): number => {
    const index = named.findIndex((name) => name === resource || name === kind.toLowerCase());
    return index < 0 ? named.length : index;
  };
  // Without an entry in `syncResources`, a cluster's Events are indexed only for the field `eventsInvolvedResources`.
  // Clusterpedia does not know that field, so these Events are left out.
  const isShown = (type: SyncedType): boolean => type.kind !== 'Event' || place(type) < named.length;
  return groups.flatMap((group) => {
    const own = types.filter((type) => type.group === group && isShown(type)).toSorted((a, b) => place(a) - place(b));
    if (own.length === 0) return [];
    return [{ group, resources: own.map((type) => syncedResource(type, timesOf(cluster, type))) }];
  });
}

function syncedResource(type: SyncedType, before: { readonly status: string; readonly time: string }): object {
  const { resource: name, kind, namespaced, version, status, reason, message, initialListPhase } = type;
  const lastTransitionTime = before.status === status ? before.time : new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = {
    version,
    syncVersion: version,
    storageVersion: version,
    status,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
    ...(initialListPhase ? { initialListPhase } : {}),
    lastTransitionTime,
  };
  return { name, kind, namespaced, syncConditions: [condition] };
}

/**
 * Returns `status` and `lastTransitionTime` of a type as the PediaCluster's status has them now; '' for absent fields.
 */
function timesOf(
  cluster: ApiObject,
  { group, resource }: SyncedType,
): { readonly status: string; readonly time: string } {
  const groups = listAt(cluster, 'status', 'syncResources').filter((each) => textAt(each, 'group') === group);
  const found = groups.flatMap((each) => listAt(each, 'resources')).find((each) => textAt(each, 'name') === resource);
  const condition = listAt(found, 'syncConditions')[0];
  return { status: textAt(condition, 'status'), time: textAt(condition, 'lastTransitionTime') };
}

/** Returns the shard in the PediaCluster's status; undefined when no gateway has taken the cluster yet. */
export function shardOf(cluster: ApiObject): string | undefined {
  const name = fieldOf(cluster, 'status', 'shardingName');
  return typeof name === 'string' ? name : undefined;
}
