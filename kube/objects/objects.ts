// Reads fields and owner references of objects of an API server, and whether an object is being deleted.
import type { ApiObject } from '../types.ts';
import { fieldOf, listAt } from '../../lib/objects/json-object.ts';

/** A type of API objects; `resource` is the plural name, as in paths. */
export interface ResourceType {
  /** API group; '' is the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export function isDeleting(object: ApiObject): boolean {
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

export function ownersOf(object: ApiObject): readonly OwnerReference[] {
  return listAt(object, 'metadata', 'ownerReferences') as readonly OwnerReference[];
}

/** Returns the owner reference with `controller: true`, which at most one owner has; undefined if there is none. */
export function controllerOf(object: ApiObject): OwnerReference | undefined {
  return ownersOf(object).find(({ controller }) => controller === true);
}
