// The expression of `whereSQL` as SQL of a store, as far as columns and terms can answer it. Its texts are always
// values of the statement, never a part of it.
import type { FieldRequirement } from '../../query/list-query.ts';
import type { ResourceType } from '../../query/types.ts';
import { typeKey } from '../../query/types.ts';
import { compileWhere, operandsOf } from '../../query/match-where.ts';
import { amongTexts, isLeaf, partOf, requirementsOf, timeRange } from '../../query/where/lift.ts';
import type { Leaf, Predicate, WhereColumn } from '../../query/predicate.ts';
import { anyHolds, join, type SqlFragment } from './sql-fragment.ts';
import type { ConditionSql, Lookups, TextColumn } from './condition-sql.ts';

/** What the conditions of one type are made with. */
interface Of<Value, Id> {
  readonly sql: ConditionSql<Value, Id>;
  readonly type: ResourceType;
  /** SQL for a condition on a field; undefined when only the body can answer it. */
  readonly field: (field: FieldRequirement) => Lookups<Id, SqlFragment<Value> | undefined>;
}

/** SQL that is true for the rows of a type that satisfy the expression; undefined when only their bodies can tell. */
export function* whereSql<Value, Id>(
  of: Of<Value, Id>,
  predicate: Predicate,
): Lookups<Id, SqlFragment<Value> | undefined> {
  if (isLeaf(predicate)) return yield* leafSql(of, predicate);
  const fragments: SqlFragment<Value>[] = [];
  for (const one of predicate.of) {
    const fragment = yield* whereSql(of, one);
    if (fragment === undefined) return undefined;
    fragments.push(fragment);
  }
  if (fragments.length === 0) return constant(predicate.kind === 'and');
  return predicate.kind === 'or' ? anyHolds(fragments) : allHold(fragments);
}

function constant<Value>(isTrue: boolean): SqlFragment<Value> {
  return { text: isTrue ? '1 = 1' : '1 = 0', values: [] };
}

function allHold<Value>(fragments: readonly SqlFragment<Value>[]): SqlFragment<Value> {
  const { text, values } = join(fragments, ' AND ');
  return { text: `(${text})`, values };
}

function* leafSql<Value, Id>(of: Of<Value, Id>, leaf: Leaf): Lookups<Id, SqlFragment<Value> | undefined> {
  if (leaf.kind === 'constant') return constant(leaf.value);
  const column = onlyColumn(leaf);
  if (column === undefined) {
    const requirements = requirementsOf(leaf);
    if (requirements === undefined) return undefined;
    const fragments: SqlFragment<Value>[] = [];
    for (const requirement of requirements) {
      const fragment = yield* of.field(requirement);
      if (fragment === undefined) return undefined;
      fragments.push(fragment);
    }
    return allHold(fragments);
  }
  return columnSql(of, leaf, column);
}

/** The column that the condition compares with literals; undefined for other conditions. */
function onlyColumn(leaf: Leaf): WhereColumn | undefined {
  const [left, ...others] = operandsOf(leaf);
  if (left?.kind !== 'column' || others.some(({ kind }) => kind !== 'literal')) return undefined;
  return left.column;
}

function columnSql<Value, Id>(
  { sql, type }: Of<Value, Id>,
  leaf: Leaf,
  column: WhereColumn,
): SqlFragment<Value> | undefined {
  const test = compileWhere(leaf);
  const isTrueOf = (key: { readonly cluster?: string; readonly namespace?: string }): boolean =>
    test({}, { cluster: '', namespace: '', name: '', type: typeKey(type), ...key });
  switch (column) {
    case 'resource':
    case 'group':
      return constant(isTrueOf({}));
    case 'cluster':
      return sql.isInCluster((cluster) => isTrueOf({ cluster }));
    case 'namespace':
      return sql.isInNamespace((namespace) => isTrueOf({ namespace }), amongTexts(leaf));
    case 'name':
    case 'uid':
      return textSql(sql, leaf, `o.${column}`);
    case 'created_at':
      return timeSql(sql, leaf);
    default:
      return undefined;
  }
}

function textSql<Value, Id>(
  sql: ConditionSql<Value, Id>,
  leaf: Leaf,
  column: TextColumn,
): SqlFragment<Value> | undefined {
  const among = amongTexts(leaf);
  if (among !== undefined)
    return among.isNegated ? sql.isNoneOf(column, among.texts) : sql.isOneOf(column, among.texts);
  const part = partOf(leaf);
  return part === undefined ? undefined : sql.contains(column, part);
}

function timeSql<Value, Id>(sql: ConditionSql<Value, Id>, leaf: Leaf): SqlFragment<Value> | undefined {
  const range = timeRange(leaf);
  if (range === undefined) return undefined;
  const fragments: SqlFragment<Value>[] = [];
  if (range.since !== undefined) fragments.push(sql.isCreated('>=', range.since));
  if (range.before !== undefined) fragments.push(sql.isCreated('<', range.before));
  return allHold(fragments);
}
