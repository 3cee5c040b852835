// Turns a query's conditions for one type into pieces of SQL over its row `o`, and leaves to the matcher what only the
// body can answer. Only a row's columns and terms become SQL; paths that are not indexed for the type are in neither.
import { GatewayError } from '../../../../cache/model/errors.ts';
import type { PathStep } from '../../../../lib/json/raw-json.ts';
import { allOf, type FieldRequirement, type ListQuery } from '../../../query/list-query.ts';
import { compileMatcher, type Matcher } from '../../../query/match.ts';
import { printPath } from '../../../query/path.ts';
import type { ResourceType } from '../../../types.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import { labelKey } from '../../term-paths.ts';
import type { Piece, Sql } from '../sql.ts';
import { fieldTerms, labelTerms, textTerms, type TermSet } from './term-sets.ts';

/** A condition over columns of `o`. */
export interface ConditionPiece extends Piece {
  /** Set where the piece is exactly this condition. */
  readonly terms?: TermSet;
}

export interface Conditions {
  /** All must hold. */
  readonly pieces: readonly ConditionPiece[];
  /** The positive condition on terms with the fewest postings. */
  readonly best: TermSet | undefined;
  /** One of the pieces looks at parts of names, which no index finds. */
  readonly scansNames: boolean;
  /** Parts of names are the only condition. */
  readonly isOfNameParts: boolean;
  /** Conditions that only a body can answer. */
  readonly recheck: Matcher | undefined;
  /** The paths `recheck` reads, as people write them. */
  readonly rechecked: readonly string[];
  /** No row can satisfy them. */
  readonly isNever: boolean;
}

/** Sets of terms that statements name by number in the function `holds`. */
export interface TermTests {
  readonly add: (ids: readonly number[]) => number;
}

/** For each row up to so many terms are looked up in their postings; more are compared with the row's own terms. */
const mostProbed = 8;

/** SQLite takes no expression that is nested 1,000 deep. */
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
      throw new GatewayError('BAD_REQUEST', `a query may have ${mostConditions} conditions: ask with fewer`);
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
      // Each part is one piece.
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
    // SQLite's lower() knows ASCII only; other names are rare.
    const name = `instr(CASE WHEN o.name GLOB '*[^ -~]*' THEN fold(o.name) ELSE lower(o.name) END, ?) > 0`;
    const inTerms = this.#pieceOf(terms);
    const values = [text.toLowerCase(), ...inTerms.values];
    this.#pieces.push({ text: `(${name} OR ${inTerms.text})`, values });
  }

  /** Undefined when only the body can answer. */
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

  /** @returns false when only the body can answer */
  #anyOf(any: readonly FieldRequirement[]): boolean {
    // Goes through all of them, so that every path without an index is named.
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

const labelOperators = {
  Equals: 'In',
  In: 'In',
  NotEquals: 'NotIn',
  NotIn: 'NotIn',
  Exists: 'Exists',
  DoesNotExist: 'DoesNotExist',
  // A label selector compares these differently.
  Gt: undefined,
  Lt: undefined,
  Contains: undefined,
} as const;

function labelSteps(key: string): readonly PathStep[] {
  return ['metadata', 'labels', key].map((step) => ({ kind: 'key', key: step }));
}

/** `metadata.name` is a column. */
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
