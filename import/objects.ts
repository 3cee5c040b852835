// Clusterpedia's objects as the controllers read them: their types on the hub, owners, finalizers.
import type { HubObject } from '../cache/hub/hub-types.ts';
import { fieldOf } from '../cache/sources/objects/hub-object.ts';
import { clusterGroup, policyGroup } from './definitions/clusterpedia.ts';
import type { HubWriter, ResourceType } from './hub/hub-writer.ts';

export const policies: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'clusterimportpolicies' };
export const lifecycles: ResourceType = { group: policyGroup, version: 'v1alpha1', resource: 'pediaclusterlifecycles' };
export const pediaClusters: ResourceType = { group: clusterGroup, version: 'v1alpha2', resource: 'pediaclusters' };

/** Text at the path, '' where there is none. */
export function textAt(object: unknown, ...path: readonly string[]): string {
  const value = fieldOf(object, ...path);
  return typeof value === 'string' ? value : '';
}

/** List at the path, empty where there is none. */
export function listAt(object: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = fieldOf(object, ...path);
  return Array.isArray(value) ? value : [];
}

/** Texts of the list at the path. */
export function textsAt(object: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(object, ...path).filter((each) => typeof each === 'string');
}

export function isDeleting(object: HubObject): boolean {
  return fieldOf(object, 'metadata', 'deletionTimestamp') !== undefined;
}

/** A metav1.OwnerReference. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export function ownersOf(object: HubObject): readonly OwnerReference[] {
  return listAt(object, 'metadata', 'ownerReferences') as readonly OwnerReference[];
}

/** The owner that controls the object. */
export function controllerOf(object: HubObject): OwnerReference | undefined {
  return ownersOf(object).find(({ controller }) => controller === true);
}

/** Whether the reference is to a ClusterImportPolicy, of whatever version. */
export function isPolicy({ apiVersion, kind }: OwnerReference): boolean {
  return kind === 'ClusterImportPolicy' && apiVersion.split('/')[0] === policyGroup;
}

/** Adds or removes the finalizer where it is not so already. @throws HubRefusal, 409 when the object has changed */
export async function setFinalizer(
  writer: HubWriter,
  type: ResourceType,
  object: HubObject,
  { finalizer, wanted }: { readonly finalizer: string; readonly wanted: boolean },
): Promise<void> {
  const present = textsAt(object, 'metadata', 'finalizers');
  if (present.includes(finalizer) === wanted) return;
  const finalizers = wanted ? [...present, finalizer] : present.filter((each) => each !== finalizer);
  const { resourceVersion } = object.metadata;
  await writer.patch(type, object, { metadata: { resourceVersion, finalizers } });
}
