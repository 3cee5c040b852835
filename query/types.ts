// The terms that all parts of the index share: resource type, row, and incarnation of a cluster. Easy to get wrong: a
// cluster's name is not its identity. A cluster that was recreated under the same name and address is another
// incarnation, and no row or resourceVersion of the old one may be used for it.
import { GatewayError } from '../model/errors.ts';
import type { PrinterColumn } from '../tables/printer-column.ts';

/** A resource type without a version. The index keeps each object in one version only. */
export interface ResourceType {
  /** The API group, such as `apps`; '' for the core group. */
  readonly group: string;
  /** Plural name in lower case, such as `pods`. */
  readonly resource: string;
}

/** A type as one text, such as `pods.` or `deployments.apps`. Used as a key in maps and in the store. */
export type TypeKey = string;

/**
 * Returns the key of a type. Security: with a dot in the resource, the key would be that of another type, whose group
 * is longer: rights to `challenges.acme` of the group `example.io` would show the rows of `challenges` of
 * `acme.example.io`. No API server serves such a resource.
 * @throws GatewayError NOT_FOUND when the resource has a dot
 */
export function typeKey({ group, resource }: ResourceType): TypeKey {
  if (resource.includes('.'))
    throw new GatewayError('NOT_FOUND', 'the server could not find the requested resource: its name has a dot');
  return `${resource}.${group}`;
}

/** What a cluster's discovery says about a type, and how the index keeps its objects. */
export interface TypeInfo extends ResourceType {
  /** The version in which rows are stored: the storage version of a CRD, otherwise the version the cluster prefers. */
  readonly version: string;
  /** All versions that the cluster serves, most preferred first; includes `version`. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /**
   * True for a custom resource with conversion strategy None: every version is the stored object with another
   * apiVersion.
   */
  readonly convertible: boolean;
  /** For a custom resource: the `additionalPrinterColumns` of its CRD, by version. */
  readonly printerColumns?: Readonly<Record<string, readonly PrinterColumn[]>>;
  /**
   * Describes how rows of the type were stored (filters, form of the documents). Rows with another value are read from
   * the cluster again, so a store must return the text exactly as it was given.
   */
  readonly keptAs?: string;
  /** Paths of the fields that were dropped before objects were stored; absent when there are none. */
  readonly pruned?: readonly string[];
}

/**
 * A type that a cluster serves and of which the index has no rows. Requests for its objects are sent to the clusters.
 */
export interface LiveType extends TypeInfo {
  /** Those of `get`, `list` and `watch` that the cluster serves. */
  readonly verbs: readonly string[];
}

/**
 * A cluster from its creation until it is recreated. Rows and resume positions belong to an incarnation, not to a
 * cluster's name, which another cluster can get.
 */
export interface Incarnation {
  /** `<uid of the cluster record>/<uid of the cluster's kube-system Namespace>`. */
  readonly id: string;
  /** The cluster's name in paths, labels and annotations. */
  readonly cluster: string;
}

/** The uid of the cluster record to which the id of an incarnation belongs. */
export function recordUidOf(incarnation: string): string {
  return incarnation.slice(0, Math.max(0, incarnation.lastIndexOf('/')));
}

/** Identifies an object among those of one type in one incarnation of a cluster. */
export interface ObjectKey {
  /** The object's namespace; '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** The parts of a row's key. They are passed beside the object, because the object does not contain all of them. */
export interface RowKey {
  readonly cluster: string;
  readonly type: TypeKey;
  /** The object's namespace; '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** The annotation that names the cluster of an item; the name is Clusterpedia's. It is part of the stored bytes. */
export const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
/** The annotation that names the cluster of an item in answers by the paths of Karmada's search. Not stored. */
export const cachedAnnotation = 'resource.karmada.io/cached-from-cluster';
