// Makes a PediaClusterLifecycle exactly as Clusterpedia writes it, with empty namespaces, so that neither the gateway
// nor Clusterpedia changes an object that the other one wrote.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { ResourceType } from '../../controllers/objects.ts';
import { policyGroup } from '../definitions/clusterpedia.ts';
import type { OwnerReference } from '../../controllers/objects.ts';
import type { CopiedPolicy, WrittenReference } from './policy-spec.ts';

/**
 * Finalizer that keeps a lifecycle until its controller has seen the deletion. It is set on creation, which saves one
 * write for each lifecycle.
 */
export const lifecycleFinalizer = 'clusterpedia.io/pediacluster-lifecycle-controller';

/** An object that a lifecycle reads; `namespace` is '' for a cluster-scoped object. */
export interface Dependency extends ResourceType {
  readonly namespace: string;
  readonly name: string;
}

/** A reference of a policy with the version that the hub serves. */
export interface LifecycleReference extends WrittenReference {
  readonly version: string;
}

export interface LifecycleSpec extends CopiedPolicy {
  readonly source: Dependency;
  readonly references?: readonly LifecycleReference[];
}

export function specOf(
  { group, version, resource }: ResourceType,
  { metadata: { namespace = '', name } }: HubObject,
  references: readonly LifecycleReference[],
  copied: CopiedPolicy,
): LifecycleSpec {
  return {
    source: { group, version, resource, namespace, name },
    ...(references.length === 0 ? {} : { references }),
    ...copied,
  };
}

export function lifecycleObject(name: string, policy: HubObject, spec: LifecycleSpec) {
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
