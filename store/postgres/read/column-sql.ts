// Conditions of `whereSQL` on columns alone as SQL of PostgreSQL.
import { columnsIn, compileColumns } from '../../../query/match-where.ts';
import { amongTexts, isLeaf, type Leaf, type Predicate } from '../../../query/predicate.ts';
import type { TypeKey } from '../../../query/types.ts';
import { partOf, timeRange } from '../../../query/where/lift.ts';
import { constantSql } from '../../sql/column-constants.ts';
import { anyHolds } from '../../sql/sql-fragment.ts';
import type { Catalog } from './catalog.ts';
import { allHold, bytes, fragment, isOneOf, numberFragment, wholeTexts, type SqlFragment } from './sql.ts';

/**
 * SQL for an expression of columns alone, for rows `o` of a type; undefined when the expression cannot be written as
 * SQL.
 */
export function columnsHold(catalog: Catalog, predicate: Predicate, type: TypeKey): SqlFragment | undefined {
  const constant = constantSql(predicate, type);
  if (constant !== undefined) return constant;
  const columns = columnsIn(predicate);
  if (columns.size === 1 && columns.has('cluster')) return isInCluster(catalog, predicate);
  if (isLeaf(predicate)) return leafSql(predicate);
  const fragments: SqlFragment[] = [];
  for (const one of predicate.of) {
    const sql = columnsHold(catalog, one, type);
    if (sql === undefined) return undefined;
    fragments.push(sql);
  }
  return predicate.kind === 'or' ? anyHolds(fragments) : allHold(fragments);
}

function leafSql(leaf: Leaf): SqlFragment | undefined {
  if (leaf.kind === 'constant' || leaf.left.kind !== 'column') return undefined;
  switch (leaf.left.column) {
    case 'name':
    case 'uid':
    case 'namespace':
      return textSql(leaf, `o.${leaf.left.column}`);
    case 'created_at':
      return timeSql(leaf);
    default:
      return undefined;
  }
}

function textSql(leaf: Leaf, column: string): SqlFragment | undefined {
  const among = amongTexts(leaf);
  if (among !== undefined) return among.isNegated ? isNoneOf(column, among.texts) : isAnyOf(column, among.texts);
  const part = partOf(leaf);
  return part === undefined ? undefined : contains(column, part);
}

/** SQL that is true when a column of texts has one of these texts. */
export function isAnyOf(column: string, texts: readonly string[]): SqlFragment {
  return isOneOf(column, 'bytea', wholeTexts(texts));
}

/** SQL that is true when a column of texts has none of these texts. */
export function isNoneOf(column: string, texts: readonly string[]): SqlFragment {
  return fragment(`${column} <> ALL(?::bytea[])`, wholeTexts(texts));
}

/** SQL that is true when a column of texts contains a text. */
export function contains(column: string, part: string): SqlFragment {
  return fragment(`position(?::bytea in ${column}) > 0`, bytes(part));
}

/** SQL that is true for rows created at this time or later (`>=`), or before it (`<`). @param ms Unix milliseconds */
export function isCreated(operator: '>=' | '<', ms: number): SqlFragment {
  const { text, values } = numberFragment(ms);
  return { text: `o.created ${operator} ${text}`, values };
}

function timeSql(leaf: Leaf): SqlFragment | undefined {
  const range = timeRange(leaf);
  if (range === undefined) return undefined;
  return allHold([
    ...(range.since === undefined ? [] : [isCreated('>=', range.since)]),
    ...(range.before === undefined ? [] : [isCreated('<', range.before)]),
  ]);
}

/**
 * The incarnations for which an expression on the column `cluster` alone is true. They are the same for all types of a
 * question, so they are kept by expression.
 */
const incarnationsOf = new WeakMap<Catalog, WeakMap<Predicate, readonly number[]>>();

function isInCluster(catalog: Catalog, predicate: Predicate): SqlFragment {
  const known = incarnationsOf.get(catalog) ?? new WeakMap<Predicate, readonly number[]>();
  incarnationsOf.set(catalog, known);
  let numbers = known.get(predicate);
  if (numbers === undefined) {
    const holds = compileColumns(predicate);
    const others = { type: '.', namespace: '', name: '', uid: '', createdAtMs: 0 } as const;
    const records = [...catalog.incarnations.values()].filter(({ cluster }) => holds({ cluster, ...others }));
    numbers = records.map(({ number }) => number);
    known.set(predicate, numbers);
  }
  return isOneOf('o.inc', 'int4', numbers);
}
