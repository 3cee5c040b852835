// Lets a member leave. First the ManifestWorks and grants are deleted, which needs the gateway's access to the member;
// then the gateway's objects in the member. The last of these is the ClusterRoleBinding that permits their deletion.
import { fieldOf, textAt, textsAt } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ApiObject } from '../../kube/types.ts';
import { UnusableName } from '../../kube/paths.ts';
import { setFinalizer } from '../../kube/objects/object-writer.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { MemberRefusal } from '../../distribute/member/member-objects.ts';
import { readBootstrap } from '../hub/bootstrap.ts';
import { deleteNextWorks, dropWorks } from '../hub/cluster-works.ts';
import { markLeaving, grantsIn } from './cluster-grants.ts';
import { accessIn, readSecret, secrets } from '../hub/cluster-secret.ts';
import { managedClusters } from '../hub/managed-cluster.ts';
import { clusterUidOf, withMember } from '../member/member-session.ts';
import { clusterJoins, isMadeFor, joinFinalizer, joinSpecOf, type InstalledObject } from '../object/cluster-join.ts';
import { objectsFor, type JoinParts } from './join-parts.ts';
import type { JoinStatus } from './join-status.ts';
import { isLast, removeInOrder } from './remove-made.ts';
import { shortened } from '../../lib/text/shortened.ts';

/**
 * Finalizers of OCM's own controllers, which remove them once ManifestWorks and add-ons are gone. Leaving must not wait
 * for them, since these controllers wait for it.
 */
const finalizersOfOcm = new Set([
  'cluster.open-cluster-management.io/api-resource-cleanup',
  'cluster.open-cluster-management.io/resource-cleanup',
]);
/** The outcome while something still exists: the next attempt follows after this time. */
const lookAgain = { afterMs: 2_000 } as const;

/**
 * Does those steps of leaving that can be done now. Returns 'done' when the ClusterJoin's finalizer is removed.
 * @param managed the ManagedCluster of the same name, if any
 */
export async function leaveMember(
  parts: JoinParts,
  join: ApiObject,
  status: JoinStatus,
  managed: ApiObject | undefined,
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
  await markLeaving(parts, join);
  const grants = await grantsIn(client, name);
  if (grants.length > 0 && !isForced) return await wait(parts, status, 'GrantsRemaining', grants);
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

function foreignFinalizers(kind: string, object: ApiObject | undefined): readonly string[] {
  return textsAt(object, 'metadata', 'finalizers')
    .filter((each) => each !== joinFinalizer && !finalizersOfOcm.has(each))
    .map((each) => `finalizer ${each} of the ${kind}`);
}

/** Whether the time of `deregisterPolicy` is over, after which a member that cannot be reached is given up. */
function isOverdue(join: ApiObject): boolean {
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
  status.setCondition('Ready', 'False', 'Leaving', 'the cluster leaves');
  status.setCondition('Left', 'False', reason, message);
  await status.save(writer);
  return lookAgain;
}

interface LeaveFault {
  readonly reason: string;
  readonly message: string;
}

/**
 * Removes the ClusterJoin's objects from the member. Returns the reason when that is not possible now, otherwise
 * undefined.
 */
async function removeFromMember(
  parts: JoinParts,
  join: ApiObject,
  status: JoinStatus,
): Promise<LeaveFault | undefined> {
  const { client, secretNamespace, rule } = parts;
  try {
    const secret = await readSecret(client, secretNamespace, join.metadata.name);
    const hasJoined = secret !== undefined && isMadeFor(secret, join);
    if (status.memory.installed.length === 0 && !hasJoined) return undefined;
    const access = hasJoined ? accessIn(secret) : (await readBootstrap(client, joinSpecOf(join).bootstrap))?.access;
    if (access === undefined)
      return { reason: 'NoCredential', message: 'there is neither the Secret of the cluster nor the bootstrap Secret' };
    return await withMember(join, access, rule, async (member) => {
      // When only the objects that are removed last are left, the gateway may have lost the right to read the Namespace
      // kube-system.
      const mayAsk = status.memory.installed.some((each) => !isLast(each));
      if (mayAsk && (await clusterUidOf(member)) !== status.memory.clusterUID)
        return { reason: 'OtherCluster', message: 'another cluster answers at the address of the one that joined' };
      await removeInOrder(objectsFor(parts, join, member.own), parts.writer, join, status);
      return undefined;
    });
  } catch (error) {
    if (error instanceof MemberRefusal) return { reason: 'RefusedByCluster', message: error.message };
    if (error instanceof GatewayError) return { reason: 'Unreachable', message: error.message };
    if (error instanceof UnusableName) return { reason: 'InvalidName', message: error.message };
    throw error;
  }
}

function titleOf({ kind, namespace, name, uid }: InstalledObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name} (${uid})`;
}

/** Reports the objects that stay in a member that was given up: in the status, as an Event and in the log. */
async function tellLeftBehind({ client, log }: JoinParts, join: ApiObject, status: JoinStatus): Promise<void> {
  const { installed } = status.memory;
  const left = installed.map(titleOf);
  status.set({ leftBehind: installed, remaining: [] });
  const { name, uid } = join.metadata;
  log.warn({ cluster: name, left }, 'join: the cluster has left without being cleaned up; objects stay in it');
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${Date.now().toString(16)}`, namespace: 'default' },
    involvedObject: { apiVersion: fieldOf(join, 'apiVersion'), kind: 'ClusterJoin', name, uid },
    type: 'Warning',
    reason: 'LeftBehind',
    message: shortened(`the cluster could not be reached; in it stay: ${left.join(', ')}`, 1024),
    source: { component: 'portcullis' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  await client.request({ method: 'POST', path: '/api/v1/namespaces/default/events', body, timeoutMs: 15_000 });
}
