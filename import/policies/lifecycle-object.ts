// A PediaClusterLifecycle as Clusterpedia writes it, empty namespaces included, so that either program finds nothing to
// change in what the other wrote.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { ResourceType } from '../../controllers/objects.ts';
import { policyGroup } from '../definitions/clusterpedia.ts';
import type { OwnerReference } from '../../controllers/objects.ts';
import type { CopiedPolicy, WrittenReference } from './policy-spec.ts';

/** Held until its end was seen. A lifecycle has it from the start, which saves a write for each. */
export const lifecycleFinalizer = 'clusterpedia.io/pediacluster-lifecycle-controller';

/** One object that a lifecycle reads; `namespace` is '' for a cluster-scoped one. */
export interface Dependency extends ResourceType {
  readonly namespace: string;
  readonly name: string;
}

/** A reference with the version that the hub serves. */
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
