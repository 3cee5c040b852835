// Turns the conditions of a query for one type into SQL about a row `o` of table `obj`. SQL can test columns and terms
// only. Conditions on paths that are not indexed for the type are left to a matcher, which tests the object's JSON (its
// body). Each store provides the SQL of single conditions, and looks up terms: the SQLite store at once, the PostgreSQL
// store by a query to the server.
import { GatewayError } from '../../model/errors.ts';
import { allOf, type FieldRequirement, type LabelRequirement, type ListQuery } from '../../query/list-query.ts';
import { compileMatcher, type Matcher } from '../../query/match.ts';
import { printPath } from '../../query/path.ts';
import { typeKey, type ResourceType } from '../../query/types.ts';
import { pathsOf } from '../../query/match-where.ts';
import type { Predicate } from '../../query/predicate.ts';
import type { ConditionPiece, ConditionSql, Lookups } from './condition-sql.ts';
import type { SqlFragment } from './sql-fragment.ts';
import { fieldLookup, labelLookup, type TermLookup, type TermSet } from './term-lookups.ts';
import { labelKey, labelOperators, labelSteps } from './term-paths.ts';
import { anyPieceHolds, isCheap, whereSql } from './where-sql.ts';

/** The conditions of a query for one type, as SQL as far as SQL can test them. */
export interface Conditions<Value, Id> {
  /** SQL conditions on `o`. A row must satisfy all of them. */
  readonly fragments: readonly ConditionPiece<Value, Id>[];
  /** Among the conditions that require a term, the terms of the one with the fewest rows. */
  readonly best: TermSet<Id> | undefined;
  /** Tests the body for those conditions that SQL cannot answer; undefined when there are none. */
  readonly recheck: Matcher | undefined;
  /** The paths on which `recheck` tests the body, as users write them. */
  readonly rechecked: readonly string[];
  /** True when no row can satisfy the conditions. */
  readonly isNever: boolean;
}

/** The most conditions of a query; more are refused, because SQLite refuses expressions nested 1,000 deep. */
const mostConditions = 400;

/**
 * Turns the conditions of a query for one type into SQL.
 * @param indexed the paths that are indexed for the type
 * @throws GatewayError BAD_REQUEST when the query has too many conditions
 */
export function compileQuery<Value, Id>(
  query: ListQuery,
  type: ResourceType,
  indexed: readonly string[],
  sql: ConditionSql<Value, Id>,
): Lookups<Id, Conditions<Value, Id>> {
  return new Compiler(indexed, sql).compile(query, type);
}

class Compiler<Value, Id> {
  readonly #indexed: ReadonlySet<string>;
  readonly #sql: ConditionSql<Value, Id>;
  readonly #fragments: ConditionPiece<Value, Id>[] = [];
  readonly #rechecked: string[] = [];
  #best: TermSet<Id> | undefined;
  #isNever = false;

  constructor(indexed: readonly string[], sql: ConditionSql<Value, Id>) {
    this.#indexed = new Set(indexed);
    this.#sql = sql;
  }

  *compile(query: ListQuery, type: ResourceType): Lookups<Id, Conditions<Value, Id>> {
    const count = query.labels.length + query.text.length + query.nameContains.length + query.fields.length;
    const inWhere = query.where === undefined ? 0 : pathsOf(query.where).length;
    if (count + inWhere + query.anyOf.flat().length > mostConditions) {
      throw new GatewayError('BAD_REQUEST', `a query may have at most ${mostConditions} conditions: use fewer`);
    }
    this.#columns(query);
    const labels: LabelRequirement[] = [];
    for (const requirement of query.labels) {
      const terms = yield labelLookup(requirement);
      if (terms === undefined) {
        this.#rechecked.push(printPath(labelSteps(requirement.key)));
        labels.push(requirement);
      } else {
        this.#require({ ...this.#sql.hasTerms(terms), terms });
      }
    }
    for (const text of query.text) {
      const inTerms = this.#sql.hasTerms((yield { text })!);
      this.#fragments.push(this.#sql.nameContains(text.toLowerCase(), inTerms));
    }
    const fields: FieldRequirement[] = [];
    for (const field of query.fields) {
      const fragment = yield* this.#field(field);
      if (fragment === undefined) fields.push(field);
      else this.#require(fragment);
    }
    const anyOf: (readonly FieldRequirement[])[] = [];
    for (const any of query.anyOf) if (!(yield* this.#anyOf(any))) anyOf.push(any);
    const where = query.where === undefined ? undefined : yield* this.#where(query.where, type);
    const isWhole = labels.length + fields.length + anyOf.length === 0 && where === undefined;
    const rest = { ...allOf(type), labels, fields, anyOf, ...(where === undefined ? {} : { where }) };
    return {
      fragments: this.#fragments,
      best: this.#best,
      recheck: isWhole ? undefined : compileMatcher(rest),
      rechecked: this.#rechecked,
      isNever: this.#isNever,
    };
  }

  #columns({ names, notNames, nameContains, uids, createdSinceMs, createdBeforeMs }: ListQuery): void {
    const [sql, fragments] = [this.#sql, this.#fragments];
    if (names !== undefined) fragments.push(sql.isOneOf('o.name', names));
    if (notNames !== undefined) fragments.push(sql.isNoneOf('o.name', notNames));
    for (const part of nameContains) fragments.push(sql.contains('o.name', part));
    if (uids !== undefined) fragments.push(sql.isOneOf('o.uid', uids));
    if (createdSinceMs !== undefined) fragments.push(sql.isCreated('>=', createdSinceMs));
    if (createdBeforeMs !== undefined) fragments.push(sql.isCreated('<', createdBeforeMs));
    if (names?.length === 0 || uids?.length === 0) this.#isNever = true;
  }

  /** Makes SQL for one condition; undefined when only the body can answer the condition. */
  *#field(field: FieldRequirement): Lookups<Id, ConditionPiece<Value, Id> | undefined> {
    const fragment = yield* this.#fieldPiece(field);
    if (fragment === undefined) this.#rechecked.push(printPath(field.path));
    return fragment;
  }

  *#fieldPiece(field: FieldRequirement): Lookups<Id, ConditionPiece<Value, Id> | undefined> {
    const column = this.#columnPiece(field);
    if (column !== undefined) return column;
    const lookup = this.#lookupOf(field);
    const terms = lookup === undefined ? undefined : yield lookup;
    return terms === undefined ? undefined : { ...this.#sql.hasTerms(terms), terms };
  }

  /** Adds SQL for the parts of an expression that SQL can test, and returns what remains. */
  *#where(where: Predicate, type: ResourceType): Lookups<Id, Predicate | undefined> {
    const field = (requirement: FieldRequirement) => this.#fieldPiece(requirement);
    const tools = { sql: this.#sql, type: typeKey(type), field };
    const isTested = isCheap(where);
    const rest: Predicate[] = [];
    for (const one of where.kind === 'and' ? where.of : [where]) {
      const fragment = isTested ? yield* whereSql(tools, one) : undefined;
      if (fragment === undefined) rest.push(one);
      else this.#require(fragment);
    }
    this.#rechecked.push(...rest.flatMap(pathsOf));
    return rest.length === 0 ? undefined : { kind: 'and', of: rest };
  }

  /**
   * Adds SQL for "any of these conditions".
   * @returns false when only the body can answer one of them
   */
  *#anyOf(any: readonly FieldRequirement[]): Lookups<Id, boolean> {
    const fragments: ConditionPiece<Value, Id>[] = [];
    // All conditions are compiled even after one has no SQL, so that the answer names every path without an index.
    for (const field of any) {
      const fragment = yield* this.#field(field);
      if (fragment !== undefined) fragments.push(fragment);
    }
    if (fragments.length < any.length) return false;
    if (fragments.length === 0) this.#isNever = true;
    else this.#require(anyPieceHolds(this.#sql, fragments));
    return true;
  }

  /**
   * SQL for conditions on `metadata.name` and `metadata.uid`, which are columns; undefined for other paths and
   * operators.
   */
  #columnPiece({ path, operator, values }: FieldRequirement): SqlFragment<Value> | undefined {
    const text = printPath(path);
    if (text !== 'metadata.name' && text !== 'metadata.uid') return undefined;
    const column = text === 'metadata.name' ? 'o.name' : 'o.uid';
    switch (operator) {
      case 'Equals':
      case 'In':
        return this.#sql.isOneOf(column, values);
      case 'NotEquals':
      case 'NotIn':
        return this.#sql.isNoneOf(column, values);
      case 'Contains':
        return this.#sql.contains(column, values[0]!);
      default:
        return undefined;
    }
  }

  /** Which terms a condition needs; undefined when no terms tell whether it holds. */
  #lookupOf(field: FieldRequirement): TermLookup | undefined {
    const label = labelKey(field.path);
    if (label !== undefined) {
      const operator = labelOperators[field.operator];
      return operator && labelLookup({ key: label, operator, values: field.values });
    }
    const path = printPath(field.path);
    return this.#indexed.has(path) ? fieldLookup(path, field) : undefined;
  }

  /** Adds SQL that all rows must satisfy. */
  #require(piece: ConditionPiece<Value, Id>): void {
    this.#fragments.push(piece);
    const { terms } = piece;
    if (terms === undefined || terms.isNegative) return;
    if (terms.ids.length === 0) this.#isNever = true;
    if (this.#best === undefined || terms.postings < this.#best.postings) this.#best = terms;
  }
}
