// A scan gives the rows of one type in the order of a query, and can be continued after any row. It reads along a
// database index where the order allows that; otherwise it collects and sorts all rows. No statement stays open between
// two calls. Rows that are equal in the first sort key are read completely before they are sorted.
import type { SlotRow } from '../tables/catalog.ts';
import { readDocument, documentPaths } from '../../../query/document.ts';
import type { BodyBudget } from '../../body-budget.ts';
import { passInMemory } from '../session/created-skip.ts';
import { matchKey, sortValue, type KeyRow, type RowOrder, type SortKey } from '../../row-order.ts';
import type { Session, TypePlan } from '../session/session.ts';
import { inExtent, joined, type Access } from './sources.ts';
import { allHold } from '../../sql/sql-fragment.ts';
import type { SqlFragment } from '../tables/sql.ts';

/** Gives rows in the order of a query. `next` returns some rows at a time; undefined when there are no more. */
export interface Scan {
  /** Skips at most `count` rows from the beginning. Returns how many were skipped; the caller must skip the others. */
  skip?(session: Session, plan: TypePlan, count: number): number;
  next(session: Session, plan: TypePlan, want: number): readonly SlotRow[] | undefined;
}

/** Milliseconds after which a call of `next` returns, even if it has found no row. */
export const atOnceMs = 15;

/** The columns of table `obj` from which a row's sort keys are made. */
export type KeyColumns = readonly [id: number, slot: number, name: string, created: number, rv: string];

/**
 * The columns to read for an order. Columns that the order does not compare are left out. SQLite then finds the others
 * in the database index, and need not read the rows.
 */
export function columnsOf({ keys }: RowOrder): string {
  const has = (column: SortKey['by']): boolean => keys.some(({ by }) => by === column);
  const created = has('created_at') ? 'o.created' : '0';
  return `o.id, o.place, o.name, ${created}, ${has('resource_version') ? 'o.rv' : "''"}`;
}

export function keyRow({ catalog }: Session, plan: TypePlan, [id, slot, name, created, rv]: KeyColumns): SlotRow {
  return { id, type: plan.type, slot: catalog.slot(slot), name, created, rv, sort: [] };
}

/**
 * Reads all rows that come after the row `after` through an access path (sources.ts), and sorts them.
 * @param budget given when rows are sorted by paths of the object: then every body is read, and rows whose body does
 *   not match are dropped
 */
export function collect(
  session: Session,
  plan: TypePlan,
  access: Access,
  order: RowOrder,
  after?: KeyRow,
  budget?: BodyBudget,
): SlotRow[] {
  const rows: SlotRow[] = [];
  for (const path of joined(access)) {
    const all = allHold([...path.where, ...access.rest]);
    // One row more than the budget allows is enough to refuse the question.
    const limit = budget === undefined ? '' : ` LIMIT ${budget.left + 1}`;
    const text = `SELECT ${path.repeats ? 'DISTINCT ' : ''}${columnsOf(order)} FROM ${path.from.text} WHERE ${all.text}${limit}`;
    for (const row of session.sql.all<KeyColumns>(text, [...path.from.values, ...all.values])) {
      rows.push(keyRow(session, plan, row));
    }
    budget?.expect(rows.length);
  }
  const sortable = budget === undefined ? rows : withSortValues(session, plan, rows, order, budget);
  const wanted = after === undefined ? sortable : sortable.filter((row) => order.compare(row, after) > 0);
  return wanted.sort(order.compare);
}

function withSortValues(
  { sql }: Session,
  { conditions }: TypePlan,
  rows: readonly SlotRow[],
  order: RowOrder,
  budget: BodyBudget,
): SlotRow[] {
  const paths = documentPaths(order.paths);
  return rows.flatMap((row) => {
    const [raw] = sql.first<[Uint8Array]>('SELECT raw FROM body WHERE id = ?', [row.id])!;
    budget.read(raw.byteLength);
    if (conditions.recheck?.(raw, matchKey(row)) === false) return [];
    const sort = readDocument(raw, paths).map(([first]) => sortValue(first));
    return [{ ...row, sort }];
  });
}

/** A scan over rows that were already read and sorted. */
export function sortedScan(rows: readonly SlotRow[]): Scan {
  let at = 0;
  return {
    next: (_session, _plan, want) => {
      if (at >= rows.length) return undefined;
      const page = rows.slice(at, at + want);
      at += page.length;
      return page;
    },
  };
}

/**
 * How rows can be read in this order without reading all of them: by namespace slots, or along a column. Undefined when
 * all rows must be read and sorted.
 */
export function scanOf(order: RowOrder): 'slots' | Column | undefined {
  if (order.paths.length > 0) return undefined;
  const [first, second] = order.keys.map(({ by }) => by);
  if (first === 'name') return 'name';
  if (first === 'created_at') return 'created';
  if (first === 'resource_version') return 'rv';
  const isOfSlots = (by: SortKey['by'] | undefined): boolean => by === 'cluster' || by === 'namespace';
  return isOfSlots(first) && isOfSlots(second) ? 'slots' : undefined;
}

/** A column along which rows can be read in order. */
export type Column = 'name' | 'created' | 'rv';

/**
 * How rows are read along each column. There is no database index on resourceVersion: SQLite reads all rows and keeps
 * the first ones.
 */
const columnReads: Readonly<Record<Column, { readonly index: string; readonly keys: readonly string[] }>> = {
  name: { index: 'obj_name', keys: ['o.name'] },
  created: { index: 'obj_created', keys: ['o.created'] },
  // The values are decimal numbers as text, so a longer one is larger.
  rv: { index: 'obj_key', keys: ['length(o.rv)', 'o.rv'] },
};

/** Makes a scan along a column. Rows with equal values are read together. */
export function columnScan(column: Column, order: RowOrder, after: KeyRow | undefined): Scan {
  return new ColumnScan(column, order, after);
}

class ColumnScan implements Scan {
  readonly #column: Column;
  readonly #order: RowOrder;
  readonly #after: KeyRow | undefined;
  readonly #isAscending: boolean;
  readonly #rows: string;
  readonly #orderBy: string;
  /** The value at which to continue. With `isAfter`, rows with this value were already given. */
  #from: { readonly value: string | number; readonly isAfter: boolean } | undefined;
  #isOver = false;

  constructor(column: Column, order: RowOrder, after: KeyRow | undefined) {
    const { index, keys } = columnReads[column];
    this.#column = column;
    this.#order = order;
    this.#after = after;
    this.#isAscending = order.keys[0]!.direction === 1;
    this.#rows = `FROM obj o INDEXED BY ${index} WHERE`;
    this.#orderBy = keys.map((key) => `${key} ${this.#isAscending ? 'ASC' : 'DESC'}`).join(', ');
    if (after !== undefined) this.#from = { value: after[column], isAfter: false };
  }

  skip(session: Session, plan: TypePlan, count: number): number {
    if (this.#column === 'rv') return 0;
    const passed = passInMemory(session, plan, this.#order, count);
    if (passed !== undefined) {
      if (passed.created === undefined) this.#isOver = true;
      else this.#from = { value: passed.created, isAfter: false };
      return passed.before;
    }
    const all = this.#where(plan, []);
    const text = `SELECT o.${this.#column} ${this.#rows} ${all.text} ORDER BY ${this.#orderBy} LIMIT 1 OFFSET ?`;
    const found = session.sql.first<[string | number]>(text, [...all.values, count]);
    if (found === undefined) return 0;
    const before = this.#where(plan, [this.#startAt(this.#isAscending ? '<' : '>', found[0])]);
    this.#from = { value: found[0], isAfter: false };
    return session.sql.first<[number]>(`SELECT count(*) ${this.#rows} ${before.text}`, before.values)![0];
  }

  next(session: Session, plan: TypePlan, want: number): readonly SlotRow[] | undefined {
    if (this.#isOver) return undefined;
    const [column, order, after] = [this.#column, this.#order, this.#after];
    const where = this.#where(plan, this.#start());
    const text = `SELECT ${columnsOf(order)} ${this.#rows} ${where.text} ORDER BY ${this.#orderBy} LIMIT ?`;
    for (let limit = want + 16; ; limit *= 4) {
      const rows = session.sql.all<KeyColumns>(text, [...where.values, limit]).map((row) => keyRow(session, plan, row));
      const last = rows.at(-1);
      // More rows with the last value may come after the limit, so all rows with it are left for the next call.
      const whole = rows.length < limit ? rows : rows.filter((row) => row[column] !== last![column]);
      if (whole.length === 0 && rows.length === limit) continue;
      this.#isOver = rows.length < limit;
      if (whole.length > 0) this.#from = { value: whole.at(-1)![column], isAfter: true };
      const wanted = after === undefined ? whole : whole.filter((row) => order.compare(row, after) > 0);
      return wanted.sort(order.compare);
    }
  }

  #start(): readonly SqlFragment[] {
    if (this.#from === undefined) return [];
    const { value, isAfter } = this.#from;
    return [this.#startAt(`${this.#isAscending ? '>' : '<'}${isAfter ? '' : '='}`, value)];
  }

  #startAt(operator: string, value: string | number): SqlFragment {
    const { keys } = columnReads[this.#column];
    return {
      text: `(${keys.join(', ')}) ${operator} (${keys.map(() => '?').join(', ')})`,
      values: this.#column === 'rv' ? [String(value).length, value] : [value],
    };
  }

  #where(plan: TypePlan, start: readonly SqlFragment[]): SqlFragment {
    const member = inExtent(plan.extent, 'o');
    return allHold([
      { text: 'o.t = ?', values: [plan.extent.t] },
      ...start,
      ...(member === undefined ? [] : [member]),
      ...plan.conditions.fragments,
    ]);
  }
}
