// The query that stores and the matcher evaluate. All ways to write a query are turned into it: Clusterpedia's
// parameters and labels, native selectors, `filter=`, and a POSTed JSON document. A missing list of clusters,
// namespaces or names does not restrict the rows; an empty list matches no row.
import type { PathStep } from '../lib/json/raw-json.ts';
import type { ResourceType } from './types.ts';
import type { Column } from './columns.ts';
import type { Predicate } from './predicate.ts';

/** One requirement of a label selector, with the meaning of k8s.io/apimachinery/pkg/labels.Requirement. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/**
 * A condition on the values at a path of the object. Values are compared as text, as in Clusterpedia. `NotEquals` and
 * `NotIn` also match when the path is missing or null. When the path has an `each` step (`[]`), a negative operator
 * matches if no element has the value; the other operators match if one element does. `Gt` and `Lt` compare numbers,
 * Kubernetes quantities or RFC 3339 times, depending on the operand. `Contains` matches a part of the text.
 */
export interface FieldRequirement {
  readonly path: readonly PathStep[];
  readonly operator: 'Equals' | 'NotEquals' | 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Contains';
  readonly values: readonly string[];
}

/** Matches objects by their owner in the same cluster. Only owner references with `controller: true` are followed. */
export interface OwnerQuery {
  /** The owner's uid. When it is given, `name`, `type` and `namespaces` are ignored. */
  readonly uid?: string;
  readonly name?: string;
  /** The type of the owner that `name` refers to; absent means any type. */
  readonly type?: ResourceType;
  /**
   * Namespaces in which an owner called `name` is searched. Cluster-scoped owners are always found. Absent means all
   * namespaces.
   */
  readonly namespaces?: readonly string[];
  /** Which owner is meant: 0 for the direct owner, 1 for the owner of the owner, and so on. */
  readonly seniority: number;
}

/**
 * A key to sort by. Rows that are equal in all keys are sorted by cluster, namespace, name and type, so that the order
 * is the same each time.
 */
export interface OrderKey {
  readonly by: Column | readonly PathStep[];
  readonly descending: boolean;
}

/** The conditions that select the rows of a list, and their order. A row must satisfy every condition. */
export interface ListQuery {
  /** One type for a list at a Kubernetes path; one or more for a collection, which lists several types together. */
  readonly types: readonly ResourceType[];
  readonly clusters?: readonly string[];
  /** Namespaces that rows must be in; '' stands for cluster-scoped objects. */
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
  /**
   * Clusters to exclude (`search.clusterpedia.io/clusters notin (a,b)`). `notNamespaces` and `notNames` exclude in the
   * same way.
   */
  readonly notClusters?: readonly string[];
  readonly notNamespaces?: readonly string[];
  readonly notNames?: readonly string[];
  readonly uids?: readonly string[];
  /** Texts that must all occur in the name, literally: they are not patterns. */
  readonly nameContains: readonly string[];
  /**
   * Texts of which each must occur in the name, a label key or a label value. Upper and lower case are not
   * distinguished.
   */
  readonly text: readonly string[];
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
  /**
   * Lists of conditions, of each of which at least one must match. (`filter=a=1,b=2` makes one list of two conditions.)
   */
  readonly anyOf: readonly (readonly FieldRequirement[])[];
  /** The expression of `whereSQL`. Parts of it that other fields of the query can say are moved there. */
  readonly where?: Predicate;
  readonly owner?: OwnerQuery;
  /** Only objects created at this time or later, in Unix milliseconds. */
  readonly createdSinceMs?: number;
  /** Only objects created before this time, in Unix milliseconds. */
  readonly createdBeforeMs?: number;
  /** Keys to sort by. Empty means by cluster, namespace, name and type. */
  readonly order: readonly OrderKey[];
}

/** A query for all objects of these types. */
export function allOf(...types: readonly ResourceType[]): ListQuery {
  return { types, nameContains: [], text: [], labels: [], fields: [], anyOf: [], order: [] };
}
