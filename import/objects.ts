// The types of Clusterpedia's objects on the hub, as the controllers use them.
import type { OwnerReference, ResourceType } from '../controllers/objects.ts';
import { clusterGroup, policyGroup } from './definitions/clusterpedia.ts';

export const policies: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'clusterimportpolicies' };
export const lifecycles: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'pediaclusterlifecycles' };
export const pediaClusters: ResourceType = { group: clusterGroup, version: 'v1alpha2', resource: 'pediaclusters' };

/** Whether an owner reference names a ClusterImportPolicy, in any version. */
export function isPolicy({ apiVersion, kind }: OwnerReference): boolean {
  return kind === 'ClusterImportPolicy' && apiVersion.split('/')[0] === policyGroup;
}
