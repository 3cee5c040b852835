// Lets a member leave. The order matters: works need the gateway's access, and so does the removal of the objects in
// the member, of which the ClusterRoleBinding that permits the removal is the last.
import { GatewayError } from '../../cache/model/errors.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { setFinalizer } from '../../controllers/hub/hub-writer.ts';
import { isDeleting, textAt, textsAt } from '../../controllers/objects.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { MemberRefusal, type MemberObjects } from '../../distribute/member/member-objects.ts';
import { readBootstrap } from '../hub/bootstrap.ts';
import { deleteNextWorks, dropWorks } from '../hub/cluster-works.ts';
import { accessIn, readSecret, secrets } from '../hub/cluster-secret.ts';
import { managedClusters } from '../hub/managed-cluster.ts';
import { nameOf } from '../member/access-objects.ts';
import { clusterUidOf, withMember } from '../member/member-session.ts';
import { clusterJoins, isMadeFor, joinFinalizer, joinSpecOf, type InstalledObject } from '../object/cluster-join.ts';
import { objectsFor, type JoinParts } from './join-parts.ts';
import type { JoinStatus } from './join-status.ts';

/** Finalizers that OCM's own controllers remove when works and add-ons are gone. They wait for us, not we for them. */
const finalizersOfOcm = new Set([
  'cluster.open-cluster-management.io/api-resource-cleanup',
  'cluster.open-cluster-management.io/resource-cleanup',
]);
/** Milliseconds between two looks at what is still there. */
const lookAgain = { afterMs: 2_000 } as const;

/**
 * Does the next steps of leaving. 'done' when the ClusterJoin is gone.
 * @param managed the ManagedCluster of the same name, if any
 */
export async function leavePass(
  parts: JoinParts,
  join: HubObject,
  status: JoinStatus,
  managed: HubObject | undefined,
): Promise<Outcome> {
  const { client, writer } = parts;
  const { name } = join.metadata;
  const own = managed !== undefined && isMadeFor(managed, join) ? managed : undefined;
  if (own !== undefined && !isDeleting(own)) await writer.remove(managedClusters, own);
  const foreign = [...foreignFinalizers('ClusterJoin', join), ...foreignFinalizers('ManagedCluster', own)];
  if (foreign.length > 0) return await wait(parts, status, 'ForeignFinalizers', foreign);
  const isForced = isOverdue(join);
  const works = own === undefined ? [] : await deleteNextWorks(client, writer, name);
  if (works.length > 0 && !isForced) return await wait(parts, status, 'WorksRemaining', works);
  const fault = await removeFromMember(parts, join, status);
  if (fault !== undefined && !isForced) {
    await wait(parts, status, fault.reason, status.memory.installed.map(titleOf), fault.message);
    return lookAgain;
  }
  if (own !== undefined && works.length > 0) await dropWorks(client, writer, name);
  if (status.memory.installed.length > 0) await tellLeftBehind(parts, join, status);
  const secret = await readSecret(client, parts.secretNamespace, name);
  if (secret !== undefined && isMadeFor(secret, join)) await writer.remove(secrets, secret);
  if (own !== undefined) await setFinalizer(writer, managedClusters, own, { finalizer: joinFinalizer, wanted: false });
  await status.save(writer);
  await setFinalizer(writer, clusterJoins, status.join, { finalizer: joinFinalizer, wanted: false });
  return 'done';
}

function foreignFinalizers(kind: string, object: HubObject | undefined): readonly string[] {
  return textsAt(object, 'metadata', 'finalizers')
    .filter((each) => each !== joinFinalizer && !finalizersOfOcm.has(each))
    .map((each) => `finalizer ${each} of the ${kind}`);
}

/** Whether the time is over after which a member is given up. */
function isOverdue(join: HubObject): boolean {
  const { forceAfterMs } = joinSpecOf(join);
  const sinceMs = Date.parse(textAt(join, 'metadata', 'deletionTimestamp'));
  return forceAfterMs !== undefined && Date.now() - sinceMs >= forceAfterMs;
}

async function wait(
  { writer }: JoinParts,
  status: JoinStatus,
  reason: string,
  remaining: readonly string[],
  message = `waiting for: ${remaining.join(', ')}`,
): Promise<Outcome> {
  status.set({ remaining });
  status.find('Ready', 'False', 'Leaving', 'the cluster leaves');
  status.find('Left', 'False', reason, message);
  await status.save(writer);
  return lookAgain;
}

interface LeaveFault {
  readonly reason: string;
  readonly message: string;
}

/** Removes the join's objects in the member; returns why that is not possible now, otherwise undefined. */
async function removeFromMember(
  parts: JoinParts,
  join: HubObject,
  status: JoinStatus,
): Promise<LeaveFault | undefined> {
  if (status.memory.installed.length === 0) return undefined;
  const { client, secretNamespace, rule } = parts;
  try {
    const secret = await readSecret(client, secretNamespace, join.metadata.name);
    const access =
      secret !== undefined && isMadeFor(secret, join)
        ? accessIn(secret)
        : (await readBootstrap(client, joinSpecOf(join).bootstrap))?.access;
    if (access === undefined)
      return { reason: 'NoCredential', message: 'there is neither the Secret of the cluster nor the bootstrap Secret' };
    return await withMember(join, access, rule, async (member) => {
      // With the last objects the right to ask for this UID goes, too.
      const mayAsk = status.memory.installed.some((each) => !isLast(each));
      if (mayAsk && (await clusterUidOf(member)) !== status.memory.clusterUID)
        return { reason: 'OtherCluster', message: 'another cluster answers at the address of the one that joined' };
      await removeInOrder(objectsFor(parts, join, member.own), parts, status);
      return undefined;
    });
  } catch (error) {
    if (error instanceof MemberRefusal) return { reason: 'RefusedByCluster', message: error.message };
    if (error instanceof GatewayError) return { reason: 'Unreachable', message: error.message };
    throw error;
  }
}

/**
 * Removes what was made last first. The last binding takes the right to remove cluster-scoped objects with it. From
 * then on only the namespace is left, which a Role in it permits to delete.
 */
async function removeInOrder(objects: MemberObjects, { writer }: JoinParts, status: JoinStatus): Promise<void> {
  const removed = status.memory.installed.toReversed().filter((each) => !isOwned(each, status));
  for (const each of removed.filter((other) => !isLast(other))) {
    await objects.remove(nameOf(each), each.uid);
    status.removed(each);
  }
  status.find('Left', 'False', 'RemovingAccess', 'the last objects are removed, by which the gateway had access');
  await status.save(writer);
  for (const each of removed.filter(isLast)) {
    try {
      await objects.remove(nameOf(each), each.uid);
    } catch (error) {
      // A look before this one removed the object, and with it the right to ask for it.
      if (!(error instanceof MemberRefusal) || ![401, 403].includes(error.status)) throw error;
    }
    status.removed(each);
  }
  status.set({ installed: [] });
}

function isLast(each: InstalledObject): boolean {
  return each.namespace !== undefined || each.kind === 'Namespace' || isLeave(each);
}

function isLeave({ kind, name }: InstalledObject): boolean {
  return kind.startsWith('ClusterRole') && name.startsWith('portcullis:leave');
}

/**
 * Kubernetes' garbage collector removes these: the `leave` ClusterRole with its binding, and everything in the
 * namespace with the Namespace, or with the ServiceAccount if the Namespace is somebody else's.
 */
function isOwned(each: InstalledObject, status: JoinStatus): boolean {
  if (isLeave(each)) return each.kind === 'ClusterRole';
  if (each.namespace === undefined) return false;
  const removesNamespace = status.memory.installed.some(({ kind }) => kind === 'Namespace');
  return removesNamespace || each.kind !== 'ServiceAccount';
}

function titleOf({ kind, namespace, name, uid }: InstalledObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name} (${uid})`;
}

/** Lists in the status, in an Event and in the log what stays in a member that was given up. */
async function tellLeftBehind({ client, log }: JoinParts, join: HubObject, status: JoinStatus): Promise<void> {
  const { installed } = status.memory;
  const left = installed.map(titleOf);
  status.set({ leftBehind: installed, remaining: [] });
  const { name, uid } = join.metadata;
  log.warn({ cluster: name, left }, 'join: a cluster was given up; objects stay in it');
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${Date.now().toString(16)}`, namespace: 'default' },
    involvedObject: { apiVersion: fieldOf(join, 'apiVersion'), kind: 'ClusterJoin', name, uid },
    type: 'Warning',
    reason: 'LeftBehind',
    message: `the cluster could not be reached; in it stay: ${left.join(', ')}`.slice(0, 1024),
    source: { component: 'portcullis' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  await client.request({ method: 'POST', path: '/api/v1/namespaces/default/events', body, timeoutMs: 15_000 });
}
