// Which terms (labels and values of indexed paths) a condition matches. The meaning of a condition is defined in
// query/match.ts alone. So each value is tested with the code there, unless the condition is a plain comparison for
// equality or existence.
import { compileMatcher } from '../../query/match.ts';
import { allOf, type FieldRequirement, type LabelRequirement } from '../../query/list-query.ts';
import { fieldPath, labelPath } from './term-paths.ts';

/**
 * Stands for the rows that have one of these terms or, with `isNegative`, for those that have none of them.
 * @param Id the store's own type for the number of a term
 */
export interface TermSet<Id> {
  readonly ids: readonly Id[];
  /**
   * The sum, over all terms, of the number of rows that have the term. It can be more than the number of rows, since a
   * row may have several of the terms.
   */
  readonly postings: number;
  readonly isNegative: boolean;
}

/** Terms to look up: those of labels whose key or value contains a text, in upper or lower case; or those of a path. */
export type TermLookup = { readonly text: string } | PathLookup;

/** Terms of one path to look up, and whether rows that have none of them are meant. */
export interface PathLookup {
  /** From `labelPath` or `fieldPath`. */
  readonly path: string;
  /** The values of the terms, a text that the values contain, or a test of each value of the path. */
  readonly values: readonly string[] | { readonly part: string } | ((value: string) => boolean);
  readonly isNegative: boolean;
}

/** When a path has more values than this, they are not tested one by one. The bodies of rows are read instead. */
export const mostEnumerated = 100_000;

const anyType = { group: '', resource: 'any' };
const anyRow = { cluster: '', type: 'any.', namespace: '', name: '' };

/** The terms that match a label requirement. */
export function labelLookup(requirement: LabelRequirement): PathLookup {
  const { key, operator, values } = requirement;
  const path = labelPath(key);
  switch (operator) {
    case 'In':
    case 'NotIn':
      return { path, values, isNegative: operator === 'NotIn' };
    case 'Exists':
    case 'DoesNotExist':
      return { path, values: () => true, isNegative: operator === 'DoesNotExist' };
    default: {
      const isMatch = compileMatcher({ ...allOf(anyType), labels: [requirement] });
      const labelled = (value: string): unknown => ({ metadata: { labels: { [key]: value } } });
      return { path, values: (value) => isMatch(labelled(value), anyRow), isNegative: false };
    }
  }
}

/**
 * The terms that match a condition on an indexed path.
 * @param indexed as in indexed-paths.ts; it must be indexed for the type
 */
export function fieldLookup(indexed: string, { operator, values }: FieldRequirement): PathLookup {
  const path = fieldPath(indexed);
  switch (operator) {
    case 'Equals':
    case 'In':
      return { path, values, isNegative: false };
    case 'NotEquals':
    case 'NotIn':
      return { path, values, isNegative: true };
    case 'Exists':
    case 'DoesNotExist':
      return { path, values: () => true, isNegative: operator === 'DoesNotExist' };
    case 'Contains':
      return { path, values: { part: values[0]! }, isNegative: false };
    default: {
      const isMatch = compileMatcher({
        ...allOf(anyType),
        fields: [{ operator, values, path: [{ kind: 'key', key: 'value' }] }],
      });
      return { path, values: (value) => isMatch({ value }, anyRow), isNegative: false };
    }
  }
}

/** Joins sets: a row that has a term of any of them has a term of the result. None of them may be negative. */
export function unionOf<Id>(sets: readonly TermSet<Id>[]): TermSet<Id> {
  const postings = sets.reduce((sum, set) => sum + set.postings, 0);
  return { ids: [...new Set(sets.flatMap(({ ids }) => ids))], postings, isNegative: false };
}

/** The set of some terms, each with the number of its rows. */
export function termSet<Id>(
  rows: readonly (readonly [id: Id, n: number, value: unknown])[],
  isNegative = false,
): TermSet<Id> {
  return { ids: rows.map(([id]) => id), postings: rows.reduce((sum, [, n]) => sum + n, 0), isNegative };
}
