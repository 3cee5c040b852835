// Turns the conditions of a query for one type into SQL about a row `o` of table `obj`. SQL can test columns and terms
// only. Conditions on paths that are not indexed for the type are left to a matcher, which tests the object's JSON (its
// body). Every store brings the SQL of single conditions, and looks up terms: one at once, the other from a server.
import { GatewayError } from '../model/errors.ts';
import { allOf, type FieldRequirement, type LabelRequirement, type ListQuery } from '../query/list-query.ts';
import { compileMatcher, type Matcher } from '../query/match.ts';
import { printPath } from '../query/path.ts';
import type { ResourceType } from '../query/types.ts';
import { anyHolds, type SqlFragment } from './sql-fragment.ts';
import { fieldLookup, labelLookup, type TermLookup, type TermSet } from './term-lookups.ts';
import { labelKey, labelOperators, labelSteps } from './term-paths.ts';

/** SQL for a condition on columns of `o`. */
export interface ConditionPiece<Value, Id> extends SqlFragment<Value> {
  /** The terms that the SQL tests for; absent when it tests something else. */
  readonly terms?: TermSet<Id>;
}

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

type TextColumn = 'o.name' | 'o.uid';

/** The SQL of single conditions in a store. */
export interface ConditionSql<Value, Id> {
  readonly isOneOf: (column: TextColumn, texts: readonly string[]) => SqlFragment<Value>;
  readonly isNoneOf: (column: TextColumn, texts: readonly string[]) => SqlFragment<Value>;
  readonly contains: (column: TextColumn, part: string) => SqlFragment<Value>;
  readonly isCreated: (operator: '>=' | '<', ms: number) => SqlFragment<Value>;
  /** That the name contains the text in upper or lower case, or that the row has certain terms. */
  readonly nameContains: (lower: string, orTerms: SqlFragment<Value>) => SqlFragment<Value>;
  readonly hasTerms: (terms: TermSet<Id>) => ConditionPiece<Value, Id>;
}

/**
 * Gives each lookup of terms that it needs, and is continued with the terms found: undefined when the path has too many
 * values to test.
 */
export type Lookups<Id, Result> = Generator<TermLookup, Result, TermSet<Id> | undefined>;

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
    if (count + query.anyOf.flat().length > mostConditions) {
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
        this.#prefer(terms);
        this.#fragments.push(this.#sql.hasTerms(terms));
      }
    }
    for (const text of query.text) {
      const inTerms = this.#sql.hasTerms((yield { text })!);
      this.#fragments.push(this.#sql.nameContains(text.toLowerCase(), inTerms));
    }
    const fields: FieldRequirement[] = [];
    for (const field of query.fields) {
      const fragment = yield* this.#field(field, true);
      if (fragment === undefined) fields.push(field);
      else this.#fragments.push(fragment);
    }
    const anyOf: (readonly FieldRequirement[])[] = [];
    for (const any of query.anyOf) if (!(yield* this.#anyOf(any))) anyOf.push(any);
    const isWhole = labels.length === 0 && fields.length === 0 && anyOf.length === 0;
    return {
      fragments: this.#fragments,
      best: this.#best,
      recheck: isWhole ? undefined : compileMatcher({ ...allOf(type), labels, fields, anyOf }),
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
  *#field(field: FieldRequirement, isRequired: boolean): Lookups<Id, ConditionPiece<Value, Id> | undefined> {
    const column = this.#columnPiece(field);
    if (column !== undefined) return column;
    const lookup = this.#lookupOf(field);
    const terms = lookup === undefined ? undefined : yield lookup;
    if (terms === undefined) {
      this.#rechecked.push(printPath(field.path));
      return undefined;
    }
    if (isRequired) this.#prefer(terms);
    return this.#sql.hasTerms(terms);
  }

  /**
   * Adds SQL for "any of these conditions".
   * @returns false when only the body can answer one of them
   */
  *#anyOf(any: readonly FieldRequirement[]): Lookups<Id, boolean> {
    const fragments: SqlFragment<Value>[] = [];
    // All conditions are compiled even after one has no SQL, so that the answer names every path without an index.
    for (const field of any) {
      const fragment = yield* this.#field(field, false);
      if (fragment !== undefined) fragments.push(fragment);
    }
    if (fragments.length < any.length) return false;
    if (fragments.length === 0) this.#isNever = true;
    else this.#fragments.push(anyHolds(fragments));
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

  #prefer(terms: TermSet<Id>): void {
    if (terms.isNegative) return;
    if (terms.ids.length === 0) this.#isNever = true;
    if (this.#best === undefined || terms.postings < this.#best.postings) this.#best = terms;
  }
}
