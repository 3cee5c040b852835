// The order of rows: the sort keys of a query, then keys that decide between rows that are equal in these. Also
// cursors, which contain one row's keys. Every store gives rows in this order. Easy to get wrong: texts are compared as
// UTF-8 bytes. JavaScript's `<` compares UTF-16 units and would put some characters before others that come later in
// UTF-8.
import { GatewayError } from '../model/errors.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import type { ListQuery, OrderKey } from '../query/list-query.ts';
import type { RowKey } from '../query/types.ts';
import type { Incarnation, TypeKey } from '../query/types.ts';
import type { Cursor } from '../query/continue.ts';
import { compareText } from '../lib/text/compare-text.ts';

/** Where a row is: a namespace in an incarnation; the namespace is '' for cluster-scoped objects. */
export interface RowPlace {
  readonly incarnation: Incarnation;
  readonly namespace: string;
}

/**
 * The values of a row by which rows are sorted. They are known before the row's body is read.
 * @param Slot the store's own type for a namespace in an incarnation
 */
export interface KeyRow<Slot extends RowPlace = RowPlace> {
  /** The row's id in the store; -1 for a row that was made from a cursor. */
  readonly id: number;
  readonly type: TypeKey;
  readonly slot: Slot;
  readonly name: string;
  readonly created: number;
  readonly rv: string;
  /** The row's values at the paths that the query sorts by, in the order of these paths. */
  readonly sort: readonly SortValue[];
}

/** The key of a row as a {@link RowKey}, which a matcher takes. */
export function matchKey({ type, slot, name }: KeyRow): RowKey {
  return { cluster: slot.incarnation.cluster, type, namespace: slot.namespace, name };
}

/**
 * A value at a path, for sorting: first numbers (rank 0), then texts (1), then missing values (2). An integer that a
 * double would round stands as its digits.
 */
export type SortValue = readonly [rank: 0 | 1 | 2, value: number | string];

type Column = 'cluster' | 'namespace' | 'name' | 'created_at' | 'resource_version' | 'type';

/** One sort key. `{ sort }` is a path: the index of its value in {@link KeyRow.sort}. */
export interface SortKey {
  readonly by: Column | { readonly sort: number };
  readonly direction: 1 | -1;
}

export interface RowOrder {
  readonly keys: readonly SortKey[];
  readonly paths: readonly (readonly PathStep[])[];
  readonly compare: (one: KeyRow, other: KeyRow) => number;
}

const ties: readonly Column[] = ['cluster', 'namespace', 'name', 'type'];

export function rowOrder(query: ListQuery): RowOrder {
  const paths: (readonly PathStep[])[] = [];
  const keys: SortKey[] = [];
  const has = (column: Column): boolean => keys.some(({ by }) => by === column);
  for (const key of query.order) {
    const direction = key.descending ? -1 : 1;
    if (!isPath(key.by)) {
      if (!has(key.by)) keys.push({ by: key.by, direction });
    } else {
      keys.push({ by: { sort: paths.length }, direction });
      paths.push(key.by);
    }
  }
  for (const column of ties) if (!has(column)) keys.push({ by: column, direction: 1 });
  const comparators = keys.map(({ by, direction }) => {
    const compare = comparatorOf(by);
    return direction === 1 ? compare : (one: KeyRow, other: KeyRow) => compare(other, one);
  });
  const compare = (one: KeyRow, other: KeyRow): number => {
    for (const by of comparators) {
      const result = by(one, other);
      if (result !== 0) return result;
    }
    return 0;
  };
  return { keys, paths, compare };
}

function isPath(by: OrderKey['by']): by is readonly PathStep[] {
  return typeof by !== 'string';
}

function comparatorOf(by: SortKey['by']): (one: KeyRow, other: KeyRow) => number {
  if (typeof by === 'object') return (one, other) => compareSort(one.sort[by.sort]!, other.sort[by.sort]!);
  switch (by) {
    case 'cluster':
      return (one, other) => compareSlotClusters(one.slot, other.slot);
    case 'namespace':
      return (one, other) => compareText(one.slot.namespace, other.slot.namespace);
    case 'name':
      return (one, other) => compareText(one.name, other.name);
    case 'type':
      return (one, other) => compareText(one.type, other.type);
    case 'created_at':
      return (one, other) => one.created - other.created;
    case 'resource_version':
      return (one, other) => one.rv.length - other.rv.length || compareText(one.rv, other.rv);
  }
}

/**
 * Compares by cluster name, then by incarnation. Two incarnations have the same name only while one replaces the other.
 */
export function compareSlotClusters(one: RowPlace, other: RowPlace): number {
  if (one.incarnation === other.incarnation) return 0;
  return (
    compareText(one.incarnation.cluster, other.incarnation.cluster) ||
    compareText(one.incarnation.id, other.incarnation.id)
  );
}

function compareSort([rank, value]: SortValue, [otherRank, otherValue]: SortValue): number {
  if (rank !== otherRank) return rank - otherRank;
  if (rank === 0) return Number(value) - Number(otherValue) || compareDigits(value, otherValue);
  return compareText(value as string, otherValue as string);
}

/** Compares numbers that are the same double. */
function compareDigits(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return 0;
  return BigInt(one) < BigInt(other) ? -1 : Number(BigInt(one) > BigInt(other));
}

const integer = /^-?\d+$/;
const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The sort value of a field, from its text in the JSON. Undefined and null are sorted as missing. */
export function sortValue(text: string | null | undefined): SortValue {
  if (text === undefined || text === null) return [2, ''];
  const number = Number(text);
  if (!decimal.test(text) || !Number.isFinite(number)) return [1, text];
  return [0, integer.test(text) && !Number.isSafeInteger(number) ? text : number];
}

/**
 * Makes the cursor of a row: its sort keys, and the number of rows up to it.
 * @param rowsUpTo number of rows that the query finds, up to and including this row
 */
export function makeCursor(order: RowOrder, row: KeyRow, rowsUpTo: number): Cursor {
  const values = order.keys.flatMap(({ by }): readonly (string | number)[] => {
    if (typeof by === 'object') return row.sort[by.sort]!;
    switch (by) {
      case 'cluster':
        return [row.slot.incarnation.cluster, row.slot.incarnation.id];
      case 'namespace':
        return [row.slot.namespace];
      case 'name':
        return [row.name];
      case 'type':
        return [row.type];
      case 'created_at':
        return [row.created];
      case 'resource_version':
        return [row.rv];
    }
  });
  return [...values, rowsUpTo];
}

/**
 * Reads a cursor: a row that has only the fields that the order compares, and the number of rows up to it.
 * @throws GatewayError BAD_REQUEST for a cursor that belongs to another order
 */
export function readCursor(order: RowOrder, cursor: Cursor): { readonly row: KeyRow; readonly rowsUpTo: number } {
  const rest = [...cursor];
  const text = (): string => take(rest, 'string') as string;
  const number = (): number => take(rest, 'number') as number;
  const sorted = (): number | string => {
    if (typeof rest[0] === 'number') return number();
    const digits = text();
    return integer.test(digits) && Number.isFinite(Number(digits)) ? digits : refuseCursor();
  };
  const found: Partial<Record<Column, string | number>> = {};
  let id = '';
  const sort: SortValue[] = [];
  for (const { by } of order.keys) {
    if (typeof by === 'object') {
      const rank = number();
      if (rank !== 0 && rank !== 1 && rank !== 2) refuseCursor();
      sort.push([rank, rank === 0 ? sorted() : text()]);
    } else if (by === 'cluster') {
      found.cluster = text();
      id = text();
    } else {
      found[by] = by === 'created_at' ? number() : text();
    }
  }
  const rowsUpTo = number();
  if (rest.length > 0) refuseCursor();
  const slot = { incarnation: { id, cluster: String(found.cluster) }, namespace: String(found.namespace) };
  const created = Number(found.created_at ?? 0);
  const rv = String(found.resource_version ?? '');
  return { row: { id: -1, type: String(found.type), slot, name: String(found.name), created, rv, sort }, rowsUpTo };
}

function take(rest: (string | number)[], type: 'string' | 'number'): string | number {
  const value = rest.shift();
  return typeof value === type ? value! : refuseCursor();
}

function refuseCursor(): never {
  throw new GatewayError(
    'BAD_REQUEST',
    'the continue token belongs to a list in another order; start again without it',
  );
}
