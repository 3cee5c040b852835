// The ManagedCluster of a member on hubs that have OCM's types: made for a ClusterJoin that asks for one, kept up to
// date with the member's address and certificate authority, and held by a finalizer until the member has left.
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { listAt, textAt } from '../../lib/objects/json-object.ts';
import { conditionsOf, generationOf, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import { HubRefusal, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { isMadeFor, joinFinalizer, markOf } from '../object/cluster-join.ts';

export const managedClusters: ResourceType = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1',
  resource: 'managedclusters',
};
/**
 * Type of a condition of ManagedClusters: whether the cluster is available and all conditions that its readiness gates
 * name are True.
 */
const readyType = 'gateway.portcullis.io/Ready';

/**
 * Annotation of a ManagedCluster: the URL that the gateway wrote into `spec.managedClusterClientConfigs`. By it the
 * gateway's own entry is known when the member's address has changed.
 */
const urlAnnotation = 'gateway.portcullis.io/join-url';

/** How a member is reached, as `spec.managedClusterClientConfigs` of its ManagedCluster says. */
export interface ClientConfig {
  readonly url: string;
  /** Certificate authority of the member as base64 of PEM text; undefined when the system's roots verify the member. */
  readonly caBundle: string | undefined;
}

/**
 * Creates the ManagedCluster, or updates the gateway's own address in it; addresses that others added stay. A
 * ManagedCluster that somebody else made is left alone. On a hub without the type nothing happens.
 * @throws HubRefusal, for example when an admission webhook of OCM refuses `hubAcceptsClient`, or with status 409 when
 * the ManagedCluster changed since it was read; GatewayError
 */
export async function keepManagedCluster(
  writer: ObjectWriter,
  join: ApiObject,
  present: ApiObject | undefined,
  { url, caBundle }: ClientConfig,
): Promise<void> {
  const own = { url, ...(caBundle === undefined ? {} : { caBundle }) };
  if (present !== undefined) {
    if (isMadeFor(present, join)) await updateAddress(writer, present, own);
    return;
  }
  const { labels, annotations } = markOf(join);
  const metadata = {
    ...{ name: join.metadata.name, labels, annotations: { ...annotations, [urlAnnotation]: url } },
    finalizers: [joinFinalizer],
  };
  const spec = { hubAcceptsClient: true, managedClusterClientConfigs: [own] };
  const { group, version } = managedClusters;
  try {
    await writer.create(managedClusters, { apiVersion: `${group}/${version}`, kind: 'ManagedCluster', metadata, spec });
  } catch (error) {
    // 404: the hub has no such type. 409: the object was created a moment ago.
    if (!(error instanceof HubRefusal) || (error.status !== 404 && error.status !== 409)) throw error;
  }
}

/**
 * Replaces the entry that the gateway wrote before, or appends one. Without the annotation, in a ManagedCluster of an
 * earlier version, only an entry with the present URL counts as the gateway's: any other may be somebody else's.
 */
async function updateAddress(
  writer: ObjectWriter,
  present: ApiObject,
  own: { readonly url: string; readonly caBundle?: string },
): Promise<void> {
  const configs = listAt(present, 'spec', 'managedClusterClientConfigs');
  const before = textAt(present, 'metadata', 'annotations', urlAnnotation);
  const isThere = configs.some((config) => isDeepStrictEqual(config, own));
  if (before === own.url && isThere) return;
  const indexOf = (address: string): number => configs.findIndex((config) => textAt(config, 'url') === address);
  const index = [before, own.url].map(indexOf).find((each) => each >= 0) ?? configs.length;
  const { resourceVersion } = present.metadata;
  // A merge patch replaces the whole list. With the resourceVersion, the hub refuses it if somebody else changed the
  // list since the read.
  await writer.patch(managedClusters, present, {
    metadata: { resourceVersion, annotations: { [urlAnnotation]: own.url } },
    spec: { managedClusterClientConfigs: configs.toSpliced(index, 1, own) },
  });
}

/**
 * Writes the condition `gateway.portcullis.io/Ready` into the ManagedCluster's status. @throws HubRefusal, GatewayError
 */
export async function recordReady(
  writer: ObjectWriter,
  managed: ApiObject,
  finding: Omit<Finding, 'type'>,
): Promise<void> {
  const before = conditionsOf(managed);
  const conditions = withConditions(before, [{ type: readyType, ...finding }], generationOf(managed));
  if (isDeepStrictEqual(before, conditions)) return;
  await writer.patchStatus(managedClusters, managed, { conditions });
}
