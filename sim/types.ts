// The shapes every file of the simulator shares: objects, metadata, users. Stored objects are never mutated in
// place: a change is a new object with a new resourceVersion.

/** Any JSON object; the simulator handles kinds it has no types for. */
export type JsonObject = Record<string, any>;

/** metav1.OwnerReference. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** metav1.ObjectMeta, as far as the simulator reads it. */
export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: JsonObject[];
}

/** A Kubernetes object as stored and sent. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: any;
}

/** The identity of a caller (k8s.io/apiserver user.Info). */
export interface SimUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A deep copy of plain JSON. */
export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** RFC 3339 in whole seconds, as metav1.Time is written. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
