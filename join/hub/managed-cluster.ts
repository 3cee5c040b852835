// The ManagedCluster of a member on hubs that have OCM's types: made for a ClusterJoin that asks for one, kept up to
// date with the member's address and certificate authority, and held by a finalizer until the member has left.
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
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

/** How a member is reached, as `spec.managedClusterClientConfigs` of its ManagedCluster says. */
export interface ClientConfig {
  readonly url: string;
  /** Certificate authority of the member as base64 of PEM text; undefined when the system's roots verify the member. */
  readonly caBundle: string | undefined;
}

/**
 * Creates the ManagedCluster, or updates the address in it. A ManagedCluster that somebody else made is left alone. On
 * a hub without the type nothing happens.
 * @throws HubRefusal, for example when an admission webhook of OCM refuses `hubAcceptsClient`; GatewayError
 */
export async function keepManagedCluster(
  writer: ObjectWriter,
  join: ApiObject,
  present: ApiObject | undefined,
  { url, caBundle }: ClientConfig,
): Promise<void> {
  const managedClusterClientConfigs = [{ url, ...(caBundle === undefined ? {} : { caBundle }) }];
  if (present !== undefined) {
    const isSame = isDeepStrictEqual(
      fieldOf(present, 'spec', 'managedClusterClientConfigs'),
      managedClusterClientConfigs,
    );
    if (isMadeFor(present, join) && !isSame)
      await writer.patch(managedClusters, present, { spec: { managedClusterClientConfigs } });
    return;
  }
  const metadata = { name: join.metadata.name, ...markOf(join), finalizers: [joinFinalizer] };
  const spec = { hubAcceptsClient: true, managedClusterClientConfigs };
  const { group, version } = managedClusters;
  try {
    await writer.create(managedClusters, { apiVersion: `${group}/${version}`, kind: 'ManagedCluster', metadata, spec });
  } catch (error) {
    // 404: the hub has no such type. 409: the object was created a moment ago.
    if (!(error instanceof HubRefusal) || (error.status !== 404 && error.status !== 409)) throw error;
  }
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
