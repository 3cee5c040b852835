// The question as every store and the matcher understand it: a tree of plain values, whichever spelling it came in
// (Clusterpedia's parameters and labels, native selectors, `filter=`, a POSTed document). An absent list asks for
// everything, an empty one for nothing.
import type { PathStep } from '../../lib/json/path-step.ts';
import type { ResourceType } from '../types.ts';
import type { Column } from './columns.ts';

/** k8s.io/apimachinery/pkg/labels.Requirement. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/**
 * A condition on a path of the object. Text comparison of the JSON scalar, as Clusterpedia's; `NotEquals` and `NotIn`
 * hold where the path is missing or null. With `each` in the path a positive operator holds when one element matches, a
 * negative one when none does. `Gt`, `Lt` compare as the operand reads: a number, a Kubernetes quantity or an RFC 3339
 * time. `Contains` is a part of the text.
 */
export interface FieldRequirement {
  readonly path: readonly PathStep[];
  readonly operator: 'Equals' | 'NotEquals' | 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Contains';
  readonly values: readonly string[];
}

/** Objects that something owns (controller references only), in the cluster of the object. */
export interface OwnerQuery {
  /** Wins over `name`. */
  readonly uid?: string;
  readonly name?: string;
  /** Narrows `name`. */
  readonly type?: ResourceType;
  /** Namespaces in which an owner of that name is searched, besides cluster-scoped ones; absent means all. */
  readonly namespaces?: readonly string[];
  /** 0: the direct owner, 1: its owner, … */
  readonly seniority: number;
}

/** A key to sort by; ties are broken by cluster, namespace, name, type, so that every order is stable. */
export interface OrderKey {
  readonly by: Column | readonly PathStep[];
  readonly descending: boolean;
}

/** Which rows, in which order. Every condition must hold. */
export interface ListQuery {
  /** One of a native list, several of a collection. */
  readonly types: readonly ResourceType[];
  readonly clusters?: readonly string[];
  /** '' stands for cluster-scoped objects. */
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
  /** Excluded (`search.clusterpedia.io/clusters notin (a,b)`), as are namespaces and names below. */
  readonly notClusters?: readonly string[];
  readonly notNamespaces?: readonly string[];
  readonly notNames?: readonly string[];
  readonly uids?: readonly string[];
  /** Each must be a part of the name; taken literally. */
  readonly nameContains: readonly string[];
  /** Each must be a part of the name, of a label key or of a label value; no difference of case. */
  readonly text: readonly string[];
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
  /** Of each inner list one must hold (`filter=a=1,b=2` is one inner list of two). */
  readonly anyOf: readonly (readonly FieldRequirement[])[];
  readonly owner?: OwnerQuery;
  /** Unix milliseconds, inclusive. */
  readonly createdSinceMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly createdBeforeMs?: number;
  /** Empty: cluster, namespace, name, type. */
  readonly order: readonly OrderKey[];
}

/** A query of everything of these types. */
export function allOf(...types: readonly ResourceType[]): ListQuery {
  return { types, nameContains: [], text: [], labels: [], fields: [], anyOf: [], order: [] };
}
