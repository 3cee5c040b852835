// The conditions of `whereSQL` as data: a tree of AND and OR over comparisons, in which every value has its type. There
// is no NOT: the parser turns it into the opposite comparison, which in SQL is true in exactly the same rows. A
// comparison with NULL is true in neither form.
import type { PathStep } from '../lib/json/raw-json.ts';

/** The columns of Clusterpedia's table of resources that `whereSQL` may name. All of them are texts but created_at. */
export const whereColumns = [
  'cluster',
  'namespace',
  'name',
  'group',
  'version',
  'resource',
  'kind',
  'uid',
  'owner_uid',
  'created_at',
] as const;

export type WhereColumn = (typeof whereColumns)[number];

/**
 * The types of values. `jsonb` is what PostgreSQL's `->` gives, `json` what MySQL's JSON_EXTRACT gives: the two compare
 * differently with a text. `time` is in Unix milliseconds.
 */
export type ValueType = 'text' | 'number' | 'boolean' | 'time' | 'jsonb' | 'json';

/** A value that stands in the expression. A number keeps its digits as written, a `jsonb` is canonical JSON. */
export type Literal =
  | { readonly kind: 'literal'; readonly type: 'text' | 'number' | 'jsonb'; readonly value: string }
  | { readonly kind: 'literal'; readonly type: 'boolean'; readonly value: boolean }
  | { readonly kind: 'literal'; readonly type: 'time'; readonly value: number }
  | { readonly kind: 'literal'; readonly type: 'null'; readonly value: null };

/** A value of the row: a column, or what is at a path of the object, as text (`->>`) or as JSON. */
export type Reference =
  | { readonly kind: 'column'; readonly column: WhereColumn; readonly type: 'text' | 'time' }
  | { readonly kind: 'path'; readonly path: readonly PathStep[]; readonly type: 'text' | 'jsonb' | 'json' };

export type Operand = Literal | Reference;

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** One condition on values. */
export type Leaf =
  | {
      readonly kind: 'compare';
      readonly operator: Comparison;
      readonly left: Operand;
      readonly right: Operand;
    }
  /** `IN` and `NOT IN` with texts alone; other sets are written as several comparisons. */
  | { readonly kind: 'in'; readonly left: Reference; readonly texts: readonly string[]; readonly isNegated: boolean }
  | {
      readonly kind: 'like';
      readonly left: Operand;
      readonly pattern: string;
      readonly ignoresCase: boolean;
      readonly isNegated: boolean;
    }
  | { readonly kind: 'null'; readonly left: Operand; readonly isNegated: boolean }
  | { readonly kind: 'constant'; readonly value: boolean };

/** A condition on rows. An empty `and` is true, an empty `or` false. */
export type Predicate =
  | Leaf
  | { readonly kind: 'and'; readonly of: readonly Predicate[] }
  | { readonly kind: 'or'; readonly of: readonly Predicate[] };

/** Whether a predicate is one condition. */
export function isLeaf(predicate: Predicate): predicate is Leaf {
  return predicate.kind !== 'and' && predicate.kind !== 'or';
}

/** The single conditions of which an expression consists. */
export function leavesOf(predicate: Predicate): readonly Leaf[] {
  return isLeaf(predicate) ? [predicate] : predicate.of.flatMap(leavesOf);
}

/** The texts that a condition allows or forbids; undefined for other conditions. */
export interface AmongTexts {
  readonly texts: readonly string[];
  readonly isNegated: boolean;
}

/** What `=`, `<>`, `IN` and `NOT IN` allow or forbid on their left side. */
export function amongTexts(leaf: Leaf): AmongTexts | undefined {
  if (leaf.kind === 'in') return leaf;
  if (leaf.kind !== 'compare' || (leaf.operator !== '=' && leaf.operator !== '<>')) return undefined;
  const { operator, right } = leaf;
  if (right.kind !== 'literal' || right.type !== 'text') return undefined;
  return { texts: [right.value], isNegated: operator === '<>' };
}
