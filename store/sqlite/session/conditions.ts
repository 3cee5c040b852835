// The conditions of a query for one type as SQL of SQLite, about a row `o` of table `obj`.
import type { ConditionSql } from '../../sql/condition-sql.ts';
import { compileQuery, type Conditions as SqlConditions } from '../../sql/conditions.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import type { SqlFragment } from '../../sql/sql-fragment.ts';
import type { TermSet } from '../../sql/term-lookups.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import type { ResourceType } from '../../../query/types.ts';
import type { Catalog } from '../tables/catalog.ts';
import { incarnationShift } from '../tables/schema.ts';
import type { Sql, SqlValue } from '../tables/sql.ts';
import { lookUpTerms } from './term-sets.ts';

export interface Conditions extends SqlConditions<SqlValue, number> {
  /** True when a condition looks for a part of a name, which no database index can answer. */
  readonly scansNames: boolean;
  /** True when parts of names are the query's only conditions beside cluster and namespace. */
  readonly isOfNameParts: boolean;
}

/** Sets of terms for the SQL function `holds`. `add` stores a set and gives its number, which `holds` takes. */
export interface TermTests {
  readonly add: (ids: readonly number[]) => number;
}

/** What conditions are compiled with. */
export interface Tools {
  readonly sql: Sql;
  readonly tests: TermTests;
  readonly catalog: Catalog;
}

/**
 * Up to this many terms of a condition are looked up for each row in table `posting`. More terms are compared with the
 * row's own list of terms.
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

function conditionSql(tests: TermTests, catalog: Catalog): ConditionSql<SqlValue, number> {
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
    hasTerms: (terms) => ({ ...termFragment(tests, terms), terms }),
    isInCluster: (isWanted) => {
      const wanted = [...catalog.incarnations.values()].filter(({ cluster }) => isWanted(cluster));
      return isAmong(`(o.place >> ${incarnationShift})`, wanted);
    },
    isInNamespace: (isWanted) => {
      const slots = [...catalog.slots.values()];
      const wanted = slots.filter(({ namespace }) => isWanted(namespace));
      if (wanted.length <= slots.length / 2) return isAmong('+o.place', wanted);
      const others = slots.filter(({ namespace }) => !isWanted(namespace));
      return negated(isAmong('+o.place', others));
    },
  };
}

/** That a number is that of one of these records. */
function isAmong(of: string, records: readonly { readonly number: number }[]): SqlFragment<SqlValue> {
  const numbers = JSON.stringify(records.map(({ number }) => number));
  return fragment(`${of} IN (SELECT value FROM json_each(?))`, numbers);
}

function negated({ text, values }: SqlFragment<SqlValue>): SqlFragment<SqlValue> {
  return { text: `NOT (${text})`, values };
}

function termFragment(tests: TermTests, { ids, isNegative }: TermSet<number>): SqlFragment<SqlValue> {
  const not = isNegative ? 'NOT ' : '';
  if (ids.length === 0) return fragment(isNegative ? '1' : '0');
  if (ids.length > mostProbed) return fragment(`${not}holds(o.terms, ?)`, tests.add(ids));
  const terms = ids.map(() => '?').join(', ');
  const text = `${not}EXISTS (SELECT 1 FROM posting q WHERE q.term IN (${terms}) AND q.place = o.place AND q.id = o.id)`;
  return { text, values: ids };
}

function fragment(text: string, ...values: readonly SqlValue[]): SqlFragment<SqlValue> {
  return { text, values };
}
