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
import { bytes, isOneOf, numberPiece, piece, wholeTexts, type Piece } from './sql.ts';
import { fieldTerms, labelTerms, textTerms, type TermSet, type TermsOf } from './term-sets.ts';

export interface Conditions {
  /** SQL conditions on `o`. A row must satisfy all of them. */
  readonly pieces: readonly Piece[];
  /** Among the conditions that require a term, the terms of the one with the fewest rows. */
  readonly best: TermSet | undefined;
  /** Tests the body for those conditions that SQL cannot answer; undefined when there are none. */
  readonly recheck: Matcher | undefined;
  /** The paths on which `recheck` tests the body, as users write them. */
  readonly rechecked: readonly string[];
  /** True when no row can satisfy the conditions. */
  readonly isNever: boolean;
}

const mostConditions = 400;

/**
 * Turns the conditions of a query for one type into SQL.
 * @throws GatewayError (rejects) with code BAD_REQUEST when the query has too many conditions
 */
export function compileConditions(of: TermsOf, query: ListQuery, type: ResourceType): Promise<Conditions> {
  return new Compiler(of, type).compile(query);
}

class Compiler {
  readonly #of: TermsOf;
  readonly #type: ResourceType;
  readonly #indexed: ReadonlySet<string>;
  readonly #pieces: Piece[] = [];
  readonly #rechecked: string[] = [];
  #best: TermSet | undefined;
  #isNever = false;

  constructor(of: TermsOf, type: ResourceType) {
    this.#of = of;
    this.#type = type;
    this.#indexed = new Set(indexedPaths(type, of.snapshot.catalog.oldestForm));
  }

  async compile(query: ListQuery): Promise<Conditions> {
    const count = query.labels.length + query.text.length + query.nameContains.length + query.fields.length;
    if (count + query.anyOf.flat().length > mostConditions) {
      throw new GatewayError('BAD_REQUEST', `a query may have at most ${mostConditions} conditions: use fewer`);
    }
    this.#columns(query);
    const labels = await leftOver(query.labels, async (requirement) => {
      const terms = await labelTerms(this.#of, requirement);
      if (terms !== undefined) this.#require(terms);
      else this.#rechecked.push(printPath(labelSteps(requirement.key)));
      return terms !== undefined;
    });
    for (const text of query.text) await this.#text(text);
    const fields = await leftOver(query.fields, async (field) => {
      const condition = await this.#field(field, true);
      if (condition !== undefined) this.#pieces.push(condition);
      return condition !== undefined;
    });
    const anyOf = await leftOver(query.anyOf, (any) => this.#anyOf(any));
    const isWhole = labels.length === 0 && fields.length === 0 && anyOf.length === 0;
    return {
      pieces: this.#pieces,
      best: this.#best,
      recheck: isWhole ? undefined : compileMatcher({ ...allOf(this.#type), labels, fields, anyOf }),
      rechecked: this.#rechecked,
      isNever: this.#isNever,
    };
  }

  #columns({ names, notNames, nameContains, uids, createdSinceMs, createdBeforeMs }: ListQuery): void {
    const add = (text: string, value: unknown): number => this.#pieces.push(piece(text, value));
    if (names !== undefined) this.#pieces.push(isOneOf('o.name', 'bytea', wholeTexts(names)));
    if (notNames !== undefined) add('o.name <> ALL(?::bytea[])', wholeTexts(notNames));
    for (const part of nameContains) add('position(?::bytea in o.name) > 0', bytes(part));
    if (uids !== undefined) this.#pieces.push(isOneOf('o.uid', 'bytea', wholeTexts(uids)));
    const created = (operator: string, ms: number | undefined): void => {
      if (ms === undefined) return;
      const { text, values } = numberPiece(ms);
      this.#pieces.push({ text: `o.created ${operator} ${text}`, values });
    };
    created('>=', createdSinceMs);
    created('<', createdBeforeMs);
    if (names?.length === 0 || uids?.length === 0) this.#isNever = true;
  }

  async #text(text: string): Promise<void> {
    const { text: inTerms, values } = termPiece(await textTerms(this.#of, text));
    const inName = 'position(?::bytea in coalesce(o.fold, o.name)) > 0';
    this.#pieces.push(piece(`(${inName} OR ${inTerms})`, bytes(text.toLowerCase()), ...values));
  }

  /** Makes SQL for one condition; undefined when only the body can answer the condition. */
  async #field(field: FieldRequirement, isRequired: boolean): Promise<Piece | undefined> {
    const column = columnPiece(field);
    if (column !== undefined) return column;
    const terms = await this.#termsOf(field);
    if (terms === undefined) {
      this.#rechecked.push(printPath(field.path));
      return undefined;
    }
    if (isRequired) this.#prefer(terms);
    return termPiece(terms);
  }

  /**
   * Adds SQL for "any of these conditions".
   * @returns false when only the body can answer one of them
   */
  async #anyOf(any: readonly FieldRequirement[]): Promise<boolean> {
    const pieces: Piece[] = [];
    // All conditions are compiled even after one has no SQL, so that the answer names every path without an index.
    for (const field of any) {
      const condition = await this.#field(field, false);
      if (condition !== undefined) pieces.push(condition);
    }
    if (pieces.length < any.length) return false;
    if (pieces.length === 0) this.#isNever = true;
    else {
      const text = `(${pieces.map((one) => one.text).join(' OR ')})`;
      this.#pieces.push({ text, values: pieces.flatMap(({ values }) => values) });
    }
    return true;
  }

  async #termsOf(field: FieldRequirement): Promise<TermSet | undefined> {
    const label = labelKey(field.path);
    if (label !== undefined) {
      const operator = labelOperators[field.operator];
      if (operator === undefined) return undefined;
      return labelTerms(this.#of, { key: label, operator, values: field.values });
    }
    const path = printPath(field.path);
    return this.#indexed.has(path) ? fieldTerms(this.#of, path, field) : undefined;
  }

  #require(terms: TermSet): void {
    this.#prefer(terms);
    this.#pieces.push(termPiece(terms));
  }

  #prefer(terms: TermSet): void {
    if (terms.isNegative) return;
    if (terms.ids.length === 0) this.#isNever = true;
    if (this.#best === undefined || terms.postings < this.#best.postings) this.#best = terms;
  }
}

/** The elements for which `isAnswered` gives false. They are tested one after the other. */
async function leftOver<T>(all: readonly T[], isAnswered: (one: T) => Promise<boolean>): Promise<readonly T[]> {
  const left: T[] = [];
  for (const one of all) if (!(await isAnswered(one))) left.push(one);
  return left;
}

/** Up to this many terms are found through the database index; more are compared through a hash table. */
const mostInIndex = 100;

function termPiece({ ids, isNegative }: TermSet): Piece {
  if (ids.length === 0) return piece(isNegative ? 'true' : 'false');
  const not = isNegative ? 'NOT ' : '';
  const test =
    ids.length <= mostInIndex
      ? 'o.terms && ?::int8[]'
      : 'EXISTS (SELECT FROM unnest(o.terms) x(id) WHERE x.id = ANY(?::int8[]))';
  return piece(`${not}(${test})`, ids);
}

/**
 * SQL for conditions on `metadata.name` and `metadata.uid`, which are columns; undefined for other paths and operators.
 */
function columnPiece({ path, operator, values }: FieldRequirement): Piece | undefined {
  const text = printPath(path);
  if (text !== 'metadata.name' && text !== 'metadata.uid') return undefined;
  const column = text === 'metadata.name' ? 'o.name' : 'o.uid';
  switch (operator) {
    case 'Equals':
    case 'In':
      return isOneOf(column, 'bytea', wholeTexts(values));
    case 'NotEquals':
    case 'NotIn':
      return piece(`${column} <> ALL(?::bytea[])`, wholeTexts(values));
    case 'Contains':
      return piece(`position(?::bytea in ${column}) > 0`, bytes(values[0]!));
    default:
      return undefined;
  }
}
