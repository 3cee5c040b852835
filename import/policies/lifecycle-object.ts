// Makes a PediaClusterLifecycle exactly as Clusterpedia writes it, including `namespace: ''` for cluster-scoped
// sources. Otherwise the gateway and Clusterpedia would each change the objects that the other has written.
import type { ApiObject } from '../../kube/types.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { policyGroup } from '../definitions/clusterpedia.ts';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import type { CopiedPolicy, WrittenReference } from './policy-spec.ts';

/**
 * Finalizer that keeps a deleted PediaClusterLifecycle until its controller has seen the deletion. The finalizer is set
 * on creation, since adding it later would be one more write for each lifecycle.
 */
export const lifecycleFinalizer = 'clusterpedia.io/pediacluster-lifecycle-controller';

/** An object that a PediaClusterLifecycle reads; `namespace` is '' for a cluster-scoped object. */
export interface Dependency extends ResourceType {
  readonly namespace: string;
  readonly name: string;
}

/** A reference of a ClusterImportPolicy, with the version in which the hub serves the type. */
export interface LifecycleReference extends WrittenReference {
  readonly version: string;
}

export interface LifecycleSpec extends CopiedPolicy {
  readonly source: Dependency;
  readonly references?: readonly LifecycleReference[];
}

export function specOf(
  { group, version, resource }: ResourceType,
  { metadata: { namespace = '', name } }: ApiObject,
  references: readonly LifecycleReference[],
  copied: CopiedPolicy,
): LifecycleSpec {
  return {
    source: { group, version, resource, namespace, name },
    ...(references.length === 0 ? {} : { references }),
    ...copied,
  };
}

export function lifecycleObject(name: string, policy: ApiObject, spec: LifecycleSpec) {
  const owner: OwnerReference = {
    apiVersion: `${policyGroup}/v1alpha1`,
    kind: 'ClusterImportPolicy',
    name: policy.metadata.name,
    uid: policy.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion: `${policyGroup}/v1alpha1`,
    kind: 'PediaClusterLifecycle',
    metadata: { name, ownerReferences: [owner], finalizers: [lifecycleFinalizer] },
    spec,
  };
}
