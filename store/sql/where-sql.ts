// The expression of `whereSQL` as SQL of a store, as far as columns and terms (labels and indexed values) can answer
// it. Its texts are always values of the statement, never a part of it. An expression of many comparisons has no SQL,
// because a statement makes them for each row, and cannot be interrupted. It is tested in the JSON of objects (their
// bodies) instead, of which a question may read a limited number.
import type { FieldRequirement } from '../../query/list-query.ts';
import type { TypeKey } from '../../query/types.ts';
import { isOfColumns } from '../../query/match-where.ts';
import { searchedCharacters } from '../../query/like.ts';
import { constantSql } from './column-constants.ts';
import { requirementsOf } from '../../query/where/lift.ts';
import { isLeaf, leavesOf, type Leaf, type Predicate } from '../../query/predicate.ts';
import { allHold, anyHolds } from './sql-fragment.ts';
import type { ConditionPiece, ConditionSql, Lookups } from './condition-sql.ts';
import { unionOf } from './term-lookups.ts';

/** The most comparisons of an expression that is tested by SQL. */
const mostComparisons = 32;

/** What is needed to compile an expression to SQL. */
export interface WhereTools<Value, Id> {
  readonly sql: ConditionSql<Value, Id>;
  readonly type: TypeKey;
  /** SQL for a condition on a field; undefined when only the body can answer it. */
  readonly field: (field: FieldRequirement) => Lookups<Id, ConditionPiece<Value, Id> | undefined>;
}

/** Whether an expression has so few comparisons that SQL may test it for each row. */
export function isCheap(predicate: Predicate): boolean {
  const leaves = leavesOf(predicate);
  return leaves.length <= mostComparisons && leaves.every((leaf) => searchedIn(leaf) === 0);
}

/** How many characters of a LIKE pattern are compared at each character of a text, as those of `a_b` in `%a_b%`. */
function searchedIn(leaf: Leaf): number {
  return leaf.kind === 'like' ? searchedCharacters(leaf.pattern) : 0;
}

/** SQL that is true for the rows of a type that satisfy the expression; undefined when only their bodies can tell. */
export function* whereSql<Value, Id>(
  tools: WhereTools<Value, Id>,
  predicate: Predicate,
): Lookups<Id, ConditionPiece<Value, Id> | undefined> {
  if (isOfColumns(predicate)) return constantSql(predicate, tools.type) ?? tools.sql.columnsHold(predicate, tools.type);
  if (isLeaf(predicate)) return yield* fieldSql(tools, predicate);
  const { kind, of } = predicate;
  const parts = of.filter((one) => !isOfColumns(one));
  if (parts.length < of.length) parts.push({ kind, of: of.filter(isOfColumns) });
  const fragments: ConditionPiece<Value, Id>[] = [];
  for (const part of parts) {
    const fragment = yield* whereSql(tools, part);
    if (fragment === undefined) return undefined;
    fragments.push(fragment);
  }
  return kind === 'or' ? anyPieceHolds(tools.sql, fragments) : allHold(fragments);
}

/**
 * SQL that is true when any of these conditions holds, of which there must be at least one. The terms that they look
 * for are joined into one set.
 */
export function anyPieceHolds<Value, Id>(
  sql: ConditionSql<Value, Id>,
  pieces: readonly ConditionPiece<Value, Id>[],
): ConditionPiece<Value, Id> {
  const sets = pieces.flatMap(({ terms }) => (terms === undefined || terms.isNegative ? [] : [terms]));
  if (sets.length < 2) return anyHolds(pieces);
  const others = pieces.filter(({ terms }) => terms === undefined || terms.isNegative);
  const terms = unionOf(sets);
  const union = { ...sql.hasTerms(terms), terms };
  return others.length === 0 ? union : anyHolds([union, ...others]);
}

function* fieldSql<Value, Id>(
  { field }: WhereTools<Value, Id>,
  leaf: Leaf,
): Lookups<Id, ConditionPiece<Value, Id> | undefined> {
  const requirements = requirementsOf(leaf);
  if (requirements === undefined) return undefined;
  const fragments: ConditionPiece<Value, Id>[] = [];
  for (const requirement of requirements) {
    const fragment = yield* field(requirement);
    if (fragment === undefined) return undefined;
    fragments.push(fragment);
  }
  return fragments.length === 1 ? fragments[0] : allHold(fragments);
}
