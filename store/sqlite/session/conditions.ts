// Turns the conditions of a query for one type into SQL about a row `o` of table `obj`. SQL can test columns and terms
// only. Conditions on paths that are not indexed for the type are left to a matcher, which tests the object's JSON (its
// body).
import { GatewayError } from '../../../model/errors.ts';
import { allOf, type FieldRequirement, type ListQuery } from '../../../query/list-query.ts';
import { compileMatcher, type Matcher } from '../../../query/match.ts';
import { printPath } from '../../../query/path.ts';
import type { ResourceType } from '../../../query/types.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import { labelKey, labelOperators, labelSteps } from '../../term-paths.ts';
import type { Piece, Sql } from '../tables/sql.ts';
import { fieldTerms, labelTerms, textTerms, type TermSet } from './term-sets.ts';

/** SQL for a condition on columns of `o`. */
export interface ConditionPiece extends Piece {
  /** The terms that the SQL tests for; absent when it tests something else. */
  readonly terms?: TermSet;
}

export interface Conditions {
  /** SQL conditions on `o`. A row must satisfy all of them. */
  readonly pieces: readonly ConditionPiece[];
  /** Among the conditions that require a term, the terms of the one with the fewest rows. */
  readonly best: TermSet | undefined;
  /** True when a condition looks for a part of a name, which no database index can answer. */
  readonly scansNames: boolean;
  /** True when parts of names are the query's only conditions beside cluster and namespace. */
  readonly isOfNameParts: boolean;
  /** Tests the body for those conditions that SQL cannot answer; undefined when there are none. */
  readonly recheck: Matcher | undefined;
  /** The paths on which `recheck` tests the body, as users write them. */
  readonly rechecked: readonly string[];
  /** True when no row can satisfy the conditions. */
  readonly isNever: boolean;
}

/** Sets of terms for the SQL function `holds`. `add` stores a set and gives its number, which `holds` takes. */
export interface TermTests {
  readonly add: (ids: readonly number[]) => number;
}

/**
 * Up to this many terms of a condition are looked up for each row in table `posting`. More terms are compared with the
 * row's own list of terms.
 */
const mostProbed = 8;

/** The most conditions of a query; more are refused, because SQLite refuses expressions nested 1,000 deep. */
const mostConditions = 400;

export function compileConditions(
  sql: Sql,
  tests: TermTests,
  query: ListQuery,
  t: number,
  type: ResourceType,
): Conditions {
  const compiler = new Compiler(sql, tests, t, type);
  return compiler.compile(query);
}

class Compiler {
  readonly #sql: Sql;
  readonly #tests: TermTests;
  readonly #t: number;
  readonly #type: ResourceType;
  readonly #indexed: ReadonlySet<string>;
  readonly #pieces: ConditionPiece[] = [];
  readonly #rechecked: string[] = [];
  #best: TermSet | undefined;
  #isNever = false;

  constructor(sql: Sql, tests: TermTests, t: number, type: ResourceType) {
    this.#sql = sql;
    this.#tests = tests;
    this.#t = t;
    this.#type = type;
    this.#indexed = new Set(indexedPaths(type));
  }

  compile(query: ListQuery): Conditions {
    const count = query.labels.length + query.text.length + query.nameContains.length + query.fields.length;
    if (count + query.anyOf.flat().length > mostConditions) {
      throw new GatewayError('BAD_REQUEST', `a query may have at most ${mostConditions} conditions: use fewer`);
    }
    this.#columns(query);
    const unanswered = query.labels.filter((requirement) => {
      const terms = labelTerms(this.#sql, this.#t, requirement);
      if (terms !== undefined) this.#require(terms);
      else this.#rechecked.push(printPath(labelSteps(requirement.key)));
      return terms === undefined;
    });
    for (const text of query.text) this.#text(text);
    const fields = query.fields.filter((field) => {
      const piece = this.#field(field, true);
      if (piece !== undefined) this.#pieces.push(piece);
      return piece === undefined;
    });
    const anyOf = query.anyOf.filter((any) => !this.#anyOf(any));
    const parts = query.nameContains.length;
    const isWhole = unanswered.length === 0 && fields.length === 0 && anyOf.length === 0;
    const rest = { ...allOf(this.#type), labels: unanswered, fields, anyOf };
    return {
      pieces: this.#pieces,
      best: this.#best,
      scansNames: query.nameContains.length > 0 || query.text.length > 0,
      // Parts of names make one SQL condition each. As many SQL conditions as parts means that there are no others.
      isOfNameParts: isWhole && parts > 0 && this.#pieces.length === parts,
      recheck: isWhole ? undefined : compileMatcher(rest),
      rechecked: this.#rechecked,
      isNever: this.#isNever,
    };
  }

  #columns({ names, notNames, nameContains, uids, createdSinceMs, createdBeforeMs }: ListQuery): void {
    const add = (text: string, ...values: Piece['values']): number => this.#pieces.push({ text, values });
    if (names !== undefined) add('o.name IN (SELECT value FROM json_each(?))', JSON.stringify(names));
    if (notNames !== undefined) add('o.name NOT IN (SELECT value FROM json_each(?))', JSON.stringify(notNames));
    for (const part of nameContains) add('instr(o.name, ?) > 0', part);
    if (uids !== undefined) add('o.uid IN (SELECT value FROM json_each(?))', JSON.stringify(uids));
    if (createdSinceMs !== undefined) add('o.created >= ?', createdSinceMs);
    if (createdBeforeMs !== undefined) add('o.created < ?', createdBeforeMs);
    if (names?.length === 0 || uids?.length === 0) this.#isNever = true;
  }

  #text(text: string): void {
    const terms = textTerms(this.#sql, this.#t, text);
    // SQLite's lower() handles only ASCII, so names with other characters go through the function `fold` of this
    // program.
    const name = `instr(CASE WHEN o.name GLOB '*[^ -~]*' THEN fold(o.name) ELSE lower(o.name) END, ?) > 0`;
    const inTerms = this.#pieceOf(terms);
    const values = [text.toLowerCase(), ...inTerms.values];
    this.#pieces.push({ text: `(${name} OR ${inTerms.text})`, values });
  }

  /** Makes SQL for one condition; undefined when only the body can answer the condition. */
  #field(field: FieldRequirement, isRequired: boolean): ConditionPiece | undefined {
    const column = columnPiece(field);
    if (column !== undefined) return column;
    const terms = this.#termsOf(field);
    if (terms === undefined) {
      this.#rechecked.push(printPath(field.path));
      return undefined;
    }
    if (isRequired) this.#prefer(terms);
    return this.#pieceOf(terms);
  }

  /**
   * Adds SQL for "any of these conditions".
   * @returns false when only the body can answer one of them
   */
  #anyOf(any: readonly FieldRequirement[]): boolean {
    // All conditions are compiled even after one has no SQL, so that the answer names every path without an index.
    const pieces = any.flatMap((field) => this.#field(field, false) ?? []);
    if (pieces.length < any.length) return false;
    if (pieces.length === 0) this.#isNever = true;
    else {
      const text = `(${pieces.map((piece) => piece.text).join(' OR ')})`;
      this.#pieces.push({ text, values: pieces.flatMap(({ values }) => values) });
    }
    return true;
  }

  #termsOf(field: FieldRequirement): TermSet | undefined {
    const label = labelKey(field.path);
    if (label !== undefined) {
      const operator = labelOperators[field.operator];
      if (operator === undefined) return undefined;
      return labelTerms(this.#sql, this.#t, { key: label, operator, values: field.values });
    }
    const path = printPath(field.path);
    return this.#indexed.has(path) ? fieldTerms(this.#sql, this.#t, path, field) : undefined;
  }

  #require(terms: TermSet): void {
    this.#prefer(terms);
    this.#pieces.push(this.#pieceOf(terms));
  }

  #prefer(terms: TermSet): void {
    if (terms.isNegative) return;
    if (terms.ids.length === 0) this.#isNever = true;
    if (this.#best === undefined || terms.postings < this.#best.postings) this.#best = terms;
  }

  #pieceOf(terms: TermSet): ConditionPiece {
    return { ...this.#test(terms), terms };
  }

  #test({ ids, isNegative }: TermSet): Piece {
    const not = isNegative ? 'NOT ' : '';
    if (ids.length === 0) return { text: isNegative ? '1' : '0', values: [] };
    if (ids.length > mostProbed) return { text: `${not}holds(o.terms, ?)`, values: [this.#tests.add(ids)] };
    const terms = ids.map(() => '?').join(', ');
    const text = `${not}EXISTS (SELECT 1 FROM posting q WHERE q.term IN (${terms}) AND q.place = o.place AND q.id = o.id)`;
    return { text, values: ids };
  }
}

/**
 * SQL for conditions on `metadata.name` and `metadata.uid`, which are columns; undefined for other paths and operators.
 */
function columnPiece({ path, operator, values }: FieldRequirement): Piece | undefined {
  const text = printPath(path);
  if (text !== 'metadata.name' && text !== 'metadata.uid') return undefined;
  const column = text === 'metadata.name' ? 'o.name' : 'o.uid';
  const list = JSON.stringify(values);
  switch (operator) {
    case 'Equals':
    case 'In':
      return { text: `${column} IN (SELECT value FROM json_each(?))`, values: [list] };
    case 'NotEquals':
    case 'NotIn':
      return { text: `${column} NOT IN (SELECT value FROM json_each(?))`, values: [list] };
    case 'Contains':
      return { text: `instr(${column}, ?) > 0`, values: [values[0]!] };
    default:
      return undefined;
  }
}
