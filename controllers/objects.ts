// Reads objects of an API server: their fields, owners, and whether they are being deleted.
import type { HubObject } from '../cache/hub/hub-types.ts';
import { fieldOf } from '../cache/sources/objects/hub-object.ts';

/** A type, with the plural as in paths. */
export interface ResourceType {
  /** '' is the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

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
