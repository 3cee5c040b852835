// The types of Clusterpedia's objects on the hub, as the controllers use them.
import { isSubdomain } from '../../lib/objects/api-names.ts';
import type { OwnerReference, ResourceType } from '../../kube/objects/objects.ts';
import { clusterGroup, policyGroup } from '../definitions/clusterpedia.ts';

export const policies: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'clusterimportpolicies' };
export const lifecycles: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'pediaclusterlifecycles' };
export const pediaClusters: ResourceType = { group: clusterGroup, version: 'v1alpha2', resource: 'pediaclusters' };

/** Whether an owner reference names a ClusterImportPolicy, in any version. */
export function isPolicy({ apiVersion, kind }: OwnerReference): boolean {
  return kind === 'ClusterImportPolicy' && apiVersion.split('/')[0] === policyGroup;
}

/**
 * Says why a text that a template printed cannot be the name of an object; undefined when it can. Security: the text is
 * not quoted, since it may be data of a Secret, and whoever reads the message may not be allowed to read the Secret.
 */
export function nameFault(printed: string): string | undefined {
  if (isSubdomain(printed)) return undefined;
  return 'gives no name of an object: at most 253 lower-case letters, digits, "-" and "." (the text is not shown)';
}
