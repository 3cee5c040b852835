// The conditions of a query for one type as SQL of PostgreSQL, about a row `o` of table `obj`.
import type { ListQuery } from '../../../query/list-query.ts';
import type { ResourceType } from '../../../query/types.ts';
import type { ConditionSql } from '../../sql/condition-sql.ts';
import { compileQuery, type Conditions as SqlConditions } from '../../sql/conditions.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import type { TermSet } from '../../sql/term-lookups.ts';
import type { Catalog } from './catalog.ts';
import { columnsHold, contains, isAnyOf, isCreated, isNoneOf } from './column-sql.ts';
import { bytes, fragment, type SqlFragment } from './sql.ts';
import { lookUpTerms, type TermsOf } from './term-sets.ts';

/**
 * The conditions of a query as SQL. Numbers of terms (labels and indexed values) have 64 bits, and are kept as decimal
 * text.
 */
export type Conditions = SqlConditions<unknown, string>;

/**
 * Turns the conditions of a query for one type into SQL.
 * @throws GatewayError (rejects) with code BAD_REQUEST when the query has too many conditions
 */
export async function compileConditions(of: TermsOf, query: ListQuery, type: ResourceType): Promise<Conditions> {
  const indexed = indexedPaths(type, of.snapshot.catalog.oldestForm);
  const compiling = compileQuery(query, type, indexed, conditionSql(of.snapshot.catalog));
  let step = compiling.next();
  while (step.done !== true) step = compiling.next(await lookUpTerms(of, step.value));
  return step.value;
}

function conditionSql(catalog: Catalog): ConditionSql<unknown, string> {
  return {
    isOneOf: isAnyOf,
    isNoneOf,
    contains,
    isCreated,
    nameContains: (lower, { text, values }) => {
      const inName = 'position(?::bytea in coalesce(o.fold, o.name)) > 0';
      return fragment(`(${inName} OR ${text})`, bytes(lower), ...values);
    },
    hasTerms: termFragment,
    columnsHold: (predicate, type) => columnsHold(catalog, predicate, type),
  };
}

/**
 * When a condition allows up to this many terms (labels or indexed values), rows with them are found through the
 * database index; more terms are compared through a hash table.
 */
const mostInIndex = 100;

function termFragment({ ids, isNegative }: TermSet<string>): SqlFragment {
  if (ids.length === 0) return fragment(isNegative ? 'true' : 'false');
  const not = isNegative ? 'NOT ' : '';
  const test =
    ids.length <= mostInIndex
      ? 'o.terms && ?::int8[]'
      : 'EXISTS (SELECT FROM unnest(o.terms) x(id) WHERE x.id = ANY(?::int8[]))';
  return fragment(`${not}(${test})`, ids);
}
