// The words all parts of the index share: what a type, a row and a member's incarnation are. Easy to get wrong: a
// cluster's name is not its identity. A member that was made anew under the same name and address is another
// incarnation, and nothing of the old one may be resumed.
import type { PrinterColumn } from '../tables/printer-column.ts';

/** A type of resources, without a version: the index keeps one version of each object. */
export interface ResourceType {
  /** '' is the core group. */
  readonly group: string;
  /** Plural, lower case. */
  readonly resource: string;
}

/** `pods.`, `deployments.apps`: one text for a type, as keys of maps and in the store. */
export type TypeKey = string;

export function typeKey({ group, resource }: ResourceType): TypeKey {
  return `${resource}.${group}`;
}

/** What a member's discovery says of a type, with what the index keeps of it. */
export interface TypeInfo extends ResourceType {
  /** The version rows are kept in: the CRD's storage version, else the member's preferred one. */
  readonly version: string;
  /** All versions the member serves, most preferred first; holds `version`. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /**
   * A custom resource whose conversion strategy is None: every version is the stored object with another apiVersion.
   */
  readonly convertible: boolean;
  /** Of a custom resource, by version: `additionalPrinterColumns` of its CRD. */
  readonly printerColumns?: Readonly<Record<string, readonly PrinterColumn[]>>;
  /**
   * What shaped the rows that are kept: filters, form of the documents. Rows kept in another way are never resumed, so
   * a store must give it back as it got it.
   */
  readonly keptAs?: string;
}

/** One life of a member cluster. Rows and resume positions belong to it, not to a name. */
export interface Incarnation {
  /** `<uid of the cluster record>/<uid of the member's kube-system Namespace>`. */
  readonly id: string;
  /** Name in paths, labels and annotations. */
  readonly cluster: string;
}

/** Which object of a type in an incarnation. */
export interface ObjectKey {
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** The annotation that names the cluster of an item (Clusterpedia's); part of the stored bytes. */
export const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
