// All rows of a question in order. It merges the sorted rows of each type, and reads bodies (the JSON of objects) where
// a condition needs them.
import { printPath } from '../../../query/path.ts';
import type { BodyAllowance } from '../../body-budget.ts';
import type { Wanted } from '../../page-keys.ts';
import { matchKey, readCursor, rowOrder, type KeyRow, type RowOrder } from '../../row-order.ts';
import type { Cursor } from '../../../query/continue.ts';
import { readRaw } from './bodies.ts';
import type { FoundRow } from './key-order.ts';
import { keySource, sortedByPaths, type RowSource } from './key-sources.ts';
import { planTypes, type Question, type TypePlan } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** One of the sorted sequences of rows that are merged: the rows of one type, some of them read ahead. */
interface MergeInput {
  readonly plan: TypePlan;
  readonly source: RowSource;
  rows: readonly FoundRow[];
  at: number;
  isOver: boolean;
}

/** How many rows are read at a time when a condition must be tested in their bodies (stored JSON). */
const recheckedAtOnce = 64;
/** The time spent on testing bodies is measured after every 16 bodies that were tested. */
const checkedAtOnce = 16;
/** Rows. A larger offset is skipped by the database; up to this many rows are read and dropped here. */
const mostDropped = 2000;
/** On a page of at most this many rows, the bodies are read together with the keys. */
const mostWithBodies = 501;
/** The most rows that are read ahead at a time. */
const mostReadAhead = 2000;

export class KeyStream {
  readonly order: RowOrder;
  /** How many rows of the query come before the first row of this stream, as its cursor says. */
  readonly rowsBefore: number;
  readonly #snapshot: Snapshot;
  readonly #question: Question;
  readonly #after: KeyRow | undefined;
  readonly #wanted: number;
  readonly #offset: number;
  /** How many bodies (stored JSON) this question may still read, for all its types together. */
  readonly #allowance: BodyAllowance;
  #inputs: readonly MergeInput[] = [];
  #isRechecked = false;
  #given = 0;
  #readAhead = recheckedAtOnce;
  #checked = 0;
  #checkedMs = 0;
  #last: KeyRow | undefined;
  #isCut = false;

  /**
   * @param allowance the budget of bodies, and what happens when it is used up: the stream ends early, or the question
   *   is refused. A question that is sorted by paths is always refused, because its first row is known only after all
   *   bodies were read
   * @throws GatewayError BAD_REQUEST for a cursor that belongs to another order
   */
  constructor(
    snapshot: Snapshot,
    question: Question,
    cursor: Cursor | undefined,
    { offset, limit }: Wanted,
    allowance: BodyAllowance,
  ) {
    this.#snapshot = snapshot;
    this.#question = question;
    this.#allowance = allowance;
    this.order = rowOrder(question.query);
    const start = cursor === undefined ? undefined : readCursor(this.order, cursor);
    this.#after = start?.row;
    this.rowsBefore = start?.rowsUpTo ?? 0;
    this.#offset = offset;
    this.#wanted = limit === undefined ? Number.POSITIVE_INFINITY : offset + limit + 1;
    allowance.budget.isFor(this.order.paths.map(printPath));
  }

  /**
   * Compiles the question to SQL. To be called before the first {@link next}.
   * @returns how many rows of the offset the database skips; the caller must skip the others
   */
  async open(): Promise<number> {
    const { budget } = this.#allowance;
    const plans = await planTypes(this.#snapshot, this.#question);
    for (const { conditions } of plans) budget.isFor(conditions.rechecked);
    const isOfBodies = plans.some(({ conditions }) => conditions.recheck !== undefined);
    const isByPaths = this.order.paths.length > 0;
    // When rows are sorted by paths, conditions on their bodies are tested while the bodies are read for sorting.
    this.#isRechecked = isOfBodies && !isByPaths;
    const isPassed = plans.length === 1 && !isOfBodies && !isByPaths && this.#offset > mostDropped;
    const offset = isPassed ? this.#offset : 0;
    if (isPassed) this.#given = offset;
    const most = this.#isRechecked ? Number.POSITIVE_INFINITY : this.#wanted - offset;
    // Whether bodies are read together with the keys. With several types, or when rows are skipped in this process,
    // that would read bodies of rows that are not on the page.
    const isWhole = plans.length === 1 && !isOfBodies && this.#offset === offset && most <= mostWithBodies;
    const options = { order: this.order, after: this.#after, most, offset, shown: isWhole ? most - 1 : undefined };
    const inputs: MergeInput[] = [];
    for (const plan of plans) {
      const source = isByPaths
        ? await sortedByPaths(this.#snapshot, plan, options, budget)
        : await keySource(this.#snapshot, plan, options);
      inputs.push({ plan, source, rows: [], at: 0, isOver: false });
    }
    this.#inputs = inputs;
    return offset;
  }

  /** The last row that was examined when the stream has ended early because its budget was used up; else undefined. */
  get cutAt(): KeyRow | undefined {
    return this.#isCut ? this.#last : undefined;
  }

  get plans(): readonly TypePlan[] {
    return this.#inputs.map(({ plan }) => plan);
  }

  /**
   * The next rows, in order; undefined at the end. An empty list means that none of the rows just read has matched, but
   * there may be more.
   */
  async next(): Promise<readonly FoundRow[] | undefined> {
    if (this.#isCut) return undefined;
    const wanted = Math.max(1, this.#wanted - this.#given);
    const rows = this.#isRechecked
      ? await this.#merged(Math.min(recheckedAtOnce, wanted), this.#readAhead)
      : await this.#merged(Math.min(mostReadAhead, wanted), Math.min(mostReadAhead, wanted));
    if (rows === undefined) return undefined;
    const kept = this.#isRechecked ? await this.#matching(rows) : rows;
    this.#given += kept.length;
    return kept;
  }

  /** Keeps the rows whose body matches. Stops when the budget is used up. */
  async #matching(rows: readonly FoundRow[]): Promise<readonly FoundRow[]> {
    const { budget, over } = this.#allowance;
    this.#readAhead = Math.min(this.#readAhead * 4, mostReadAhead);
    if (over !== undefined) this.#readAhead = Math.max(recheckedAtOnce, Math.min(this.#readAhead, budget.left));
    const rechecks = new Map(this.#inputs.map(({ plan }) => [plan.type, plan.conditions.recheck]));
    const checked = rows.filter(({ type }) => rechecks.get(type) !== undefined);
    const most = over === undefined ? checked.length : Math.min(checked.length, budget.left);
    const bodies = await readRaw(this.#snapshot, checked.slice(0, most));
    const kept: FoundRow[] = [];
    let fromMs = performance.now();
    for (const row of rows) {
      const recheck = rechecks.get(row.type);
      if (recheck !== undefined && over !== undefined && (budget.isSpent || (over === 'end' && this.#isLate(fromMs)))) {
        this.#isCut = true;
        break;
      }
      if (recheck === undefined) kept.push(row);
      else {
        const raw = bodies.get(row.id)!;
        budget.spend(raw.byteLength);
        if (recheck(raw, matchKey(row))) kept.push(row);
      }
      this.#last = row;
    }
    this.#checkedMs += performance.now() - fromMs;
    return kept;
  }

  /**
   * Whether bodies have been tested for so long that the page should end early.
   * @param fromMs when the present round of tests began
   */
  #isLate(fromMs: number): boolean {
    if (++this.#checked % checkedAtOnce !== 0) return false;
    return this.#allowance.budget.isLate(this.#checkedMs + performance.now() - fromMs);
  }

  /**
   * Takes the next rows of all types in order; undefined at the end.
   * @param readAhead how many rows are read for a type when none is left
   */
  async #merged(want: number, readAhead: number): Promise<readonly FoundRow[] | undefined> {
    const rows: FoundRow[] = [];
    while (rows.length < want) {
      let best: MergeInput | undefined;
      for (const input of this.#inputs) {
        if (input.at >= input.rows.length && !(await fill(input, readAhead))) continue;
        if (best === undefined || this.order.compare(input.rows[input.at]!, best.rows[best.at]!) < 0) best = input;
      }
      if (best === undefined) return rows.length === 0 ? undefined : rows;
      rows.push(best.rows[best.at++]!);
    }
    return rows;
  }
}

/**
 * Reads more rows into the input.
 * @returns whether the input has a next row
 */
async function fill(input: MergeInput, want: number): Promise<boolean> {
  if (input.isOver) return false;
  input.rows = (await input.source.next(want)) ?? [];
  input.at = 0;
  input.isOver = input.rows.length === 0;
  return !input.isOver;
}
