// The conditions of a query for one type as SQL of SQLite, about a row `o` of table `obj`.
import type { ConditionSql } from '../../sql/condition-sql.ts';
import { compileQuery, type Conditions as SqlConditions } from '../../sql/conditions.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import type { SqlFragment } from '../../sql/sql-fragment.ts';
import type { TermSet } from '../../sql/term-lookups.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import { columnsIn, compileColumns } from '../../../query/match-where.ts';
import type { Predicate } from '../../../query/predicate.ts';
import type { ResourceType, TypeKey } from '../../../query/types.ts';
import type { Catalog } from '../tables/catalog.ts';
import type { ColumnTest } from '../tables/transaction.ts';
import type { Sql, SqlValue } from '../tables/sql.ts';
import { lookUpTerms } from './term-sets.ts';

export interface Conditions extends SqlConditions<SqlValue, number> {
  /** True when a condition looks for a part of a name, which no database index can answer. */
  readonly scansNames: boolean;
  /** True when parts of names are the query's only conditions beside cluster and namespace. */
  readonly isOfNameParts: boolean;
}

/** Tests for the SQL functions `holds` and `columns_hold`. Each is stored, and has a number that the function takes. */
export interface RowTests {
  /** Whether a row has one of these terms. */
  readonly addTerms: (ids: readonly number[]) => number;
  readonly addColumns: (test: ColumnTest) => number;
}

/** What is needed to compile conditions to SQL. */
export interface Tools {
  readonly sql: Sql;
  readonly tests: RowTests;
  readonly catalog: Catalog;
}

/**
 * Up to this many terms (labels or indexed values) of a condition are looked up for each row in table `posting`. More
 * terms are compared with the row's own list of terms.
 */
const mostProbed = 8;

/**
 * Turns the conditions of a query for one type into SQL.
 * @throws GatewayError BAD_REQUEST when the query has too many conditions
 */
export function compileConditions(
  { sql, tests, catalog }: Tools,
  query: ListQuery,
  t: number,
  type: ResourceType,
): Conditions {
  const compiling = compileQuery(query, type, indexedPaths(type), conditionSql(tests, catalog));
  let step = compiling.next();
  while (step.done !== true) step = compiling.next(lookUpTerms(sql, t, step.value));
  const { fragments, recheck } = step.value;
  const parts = query.nameContains.length;
  return {
    ...step.value,
    scansNames: parts > 0 || query.text.length > 0,
    // Parts of names make one SQL condition each. As many SQL conditions as parts means that there are no others.
    isOfNameParts: recheck === undefined && parts > 0 && fragments.length === parts,
  };
}

function conditionSql(tests: RowTests, catalog: Catalog): ConditionSql<SqlValue, number> {
  return {
    isOneOf: (column, texts) => fragment(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(texts)),
    isNoneOf: (column, texts) => fragment(`${column} NOT IN (SELECT value FROM json_each(?))`, JSON.stringify(texts)),
    contains: (column, part) => fragment(`instr(${column}, ?) > 0`, part),
    isCreated: (operator, ms) => fragment(`o.created ${operator} ?`, ms),
    nameContains: (lower, { text, values }) => {
      // SQLite's lower() handles only ASCII, so names with other characters go through the function `fold` of this
      // program.
      const name = `instr(CASE WHEN o.name GLOB '*[^ -~]*' THEN fold(o.name) ELSE lower(o.name) END, ?) > 0`;
      return fragment(`(${name} OR ${text})`, lower, ...values);
    },
    hasTerms: (terms) => termFragment(tests, terms),
    columnsHold: (predicate, type) => columnsFragment({ tests, catalog }, predicate, type),
  };
}

/** Calls the SQL function `columns_hold` with the columns that the expression names. */
function columnsFragment(
  { tests, catalog }: Pick<Tools, 'tests' | 'catalog'>,
  predicate: Predicate,
  type: TypeKey,
): SqlFragment<SqlValue> {
  const columns = columnsIn(predicate);
  const isOfPlaces = columns.has('cluster') || columns.has('namespace');
  const holds = compileColumns(predicate);
  const number = tests.addColumns((slot, name, uid, createdAtMs) => {
    const { incarnation, namespace } = isOfPlaces ? catalog.slot(slot) : noSlot;
    return holds({ type, cluster: incarnation.cluster, namespace, name, uid, createdAtMs });
  });
  const passed = [
    isOfPlaces ? 'o.place' : '0',
    columns.has('name') ? 'o.name' : "''",
    columns.has('uid') ? 'o.uid' : "''",
    columns.has('created_at') ? 'o.created' : '0',
  ];
  return fragment(`columns_hold(?, ${passed.join(', ')})`, number);
}

const noSlot = { incarnation: { cluster: '' }, namespace: '' };

function termFragment(tests: RowTests, { ids, isNegative }: TermSet<number>): SqlFragment<SqlValue> {
  const not = isNegative ? 'NOT ' : '';
  if (ids.length === 0) return fragment(isNegative ? '1' : '0');
  if (ids.length > mostProbed) return fragment(`${not}holds(o.terms, ?)`, tests.addTerms(ids));
  const terms = ids.map(() => '?').join(', ');
  const text = `${not}EXISTS (SELECT 1 FROM posting q WHERE q.term IN (${terms}) AND q.place = o.place AND q.id = o.id)`;
  return { text, values: ids };
}

function fragment(text: string, ...values: readonly SqlValue[]): SqlFragment<SqlValue> {
  return { text, values };
}
