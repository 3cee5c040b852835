// Types that all files of the simulator use: objects, metadata, users. A stored object is never changed; an update
// stores a new object with a new resourceVersion.

/** Any JSON object. The simulator has no types for single kinds. */
export type JsonObject = Record<string, any>;

/** The same as metav1.OwnerReference. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The fields of metav1.ObjectMeta that the simulator uses. */
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

/** A Kubernetes object, as it is stored and sent. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: any;
}

/** An authenticated user (k8s.io/apiserver user.Info). */
export interface SimUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whether a JSON value is an object, neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** A deep copy of a JSON value. */
export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** The time as RFC 3339 text in whole seconds, like metav1.Time. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
