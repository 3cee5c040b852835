// The values that conditions of `whereSQL` compare: read from a whole object, or from the columns that a store keeps
// beside the object. What JSON_EXTRACT gives is ordered as in MySQL: null, numbers, texts, objects, lists, booleans.
import { parseExact } from '../lib/json/exact-json.ts';
import { byte, textOf } from '../lib/json/json-scan.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import type { Slice } from './json-path.ts';
import { printPath } from './path.ts';
import { controllerOf } from './owner-references.ts';
import type { RowKey } from './types.ts';
import { jsonText, numberText } from './json-text.ts';
import type { Reference, WhereColumn } from './predicate.ts';

/** The columns of a stored row that `whereSQL` can name without the object. */
export interface RowColumns extends RowKey {
  readonly uid: string;
  /** The time of creation in Unix milliseconds. */
  readonly createdAtMs: number;
}

/** A row while its conditions are tested. */
export interface Row {
  readonly bytes: Buffer;
  readonly key: RowKey;
  /** Where in `bytes` the value at each path is; undefined when the object has no value there. */
  readonly found: readonly (Slice | undefined)[];
}

/** A value of JSON in MySQL's order: first by rank, then by value. */
export interface JsonValue {
  readonly rank: number;
  readonly value: string | boolean | null;
}

export type Value = string | number | boolean | JsonValue;
/** Reads a value of a row; undefined stands for NULL. */
export type Read = (row: Row) => Value | undefined;

export const ranks = { null: 0, number: 1, text: 2, object: 3, list: 4, boolean: 5 } as const;

/** Gives, for each column and path that an expression names, the function that reads its value from a row. */
export interface Source {
  readonly column: (column: WhereColumn) => Read;
  readonly slice: (path: readonly PathStep[]) => SliceOf;
  /** The value at a path, with its type. It is read once for each row, however many conditions compare it. */
  readonly value: (operand: PathOperand) => Read;
  /** The JSON at a path as MySQL's LIKE sees it: a text has its quotes. */
  readonly json: (path: readonly PathStep[]) => Read;
}

export type PathOperand = Extract<Reference, { kind: 'path' }>;
export type SliceOf = (row: Row) => Slice | undefined;

/** The columns that are in the row's key. */
const inKey = {
  cluster: ({ key }: Row) => key.cluster,
  namespace: ({ key }: Row) => key.namespace,
  name: ({ key }: Row) => key.name,
  resource: ({ key: { type } }: Row) => type.slice(0, type.indexOf('.')),
  group: ({ key: { type } }: Row) => type.slice(type.indexOf('.') + 1),
} as const satisfies Partial<Record<WhereColumn, Read>>;

/** The columns that a store has for each row. */
const inRow: Readonly<Partial<Record<WhereColumn, Read>>> = {
  ...inKey,
  uid: ({ key }) => (key as RowColumns).uid,
  created_at: ({ key }) => (key as RowColumns).createdAtMs,
};

type ObjectColumn = Exclude<WhereColumn, keyof typeof inKey>;

/** The paths of the columns that are not in the row's key but in the object. */
const inObject: Readonly<Record<ObjectColumn, string>> = {
  kind: 'kind',
  version: 'apiVersion',
  uid: 'metadata.uid',
  owner_uid: 'metadata.ownerReferences',
  created_at: 'metadata.creationTimestamp',
};

/** The path of a column in the object; undefined when it is in the row's key. */
export function pathOfColumn(column: WhereColumn): string | undefined {
  return (inObject as Partial<Record<WhereColumn, string>>)[column];
}

/** Whether a store has the column for each row, so that {@link columnSource} can read it. */
export function isStored(column: WhereColumn): boolean {
  return Object.hasOwn(inRow, column);
}

const noObject = (): never => {
  throw new TypeError('a condition on the object has no value in columns');
};

/** The values of {@link RowColumns}. */
export const columnSource: Source = {
  column: (column) => inRow[column] ?? noObject(),
  slice: noObject,
  value: noObject,
  json: noObject,
};

/**
 * Reads values from objects. Collects the paths at first, so that all of them are found in one pass over each object.
 */
export class ObjectSource implements Source {
  /** The paths that the expression reads in each object, each once. */
  readonly paths: (readonly PathStep[])[] = [];
  readonly #slices = new Map<string, SliceOf>();
  readonly #values = new Map<string, Read>();

  column(column: WhereColumn): Read {
    if (Object.hasOwn(inKey, column)) return inKey[column as keyof typeof inKey];
    return this.#once(column, () => this.#inObject(column as ObjectColumn));
  }

  slice(path: readonly PathStep[]): SliceOf {
    const text = printPath(path);
    const known = this.#slices.get(text);
    if (known !== undefined) return known;
    const number = this.paths.push(path) - 1;
    const slice: SliceOf = ({ found }) => found[number];
    this.#slices.set(text, slice);
    return slice;
  }

  value(operand: PathOperand): Read {
    return this.#once(`${operand.type} ${printPath(operand.path)}`, () => atPath(operand, this.slice(operand.path)));
  }

  json(path: readonly PathStep[]): Read {
    const slice = this.slice(path);
    return this.#once(`quoted ${printPath(path)}`, () => (row) => {
      const found = slice(row);
      return found === undefined ? undefined : jsonText(row.bytes, found.start);
    });
  }

  #once(name: string, make: () => Read): Read {
    const read = this.#values.get(name) ?? once(make());
    this.#values.set(name, read);
    return read;
  }

  #inObject(column: ObjectColumn): Read {
    const json = this.slice(inObject[column].split('.').map((key): PathStep => ({ kind: 'key', key })));
    const text = (row: Row): string => scalarAt(row, json(row)) ?? '';
    switch (column) {
      case 'owner_uid':
        return (row) => {
          const slice = json(row);
          return slice === undefined ? '' : controllerOf(parseExact(row.bytes.subarray(slice.start, slice.end)));
        };
      case 'version':
        return (row) => text(row).split('/').at(-1);
      case 'created_at':
        return (row) => {
          const ms = Date.parse(text(row));
          return Number.isNaN(ms) ? undefined : ms;
        };
      default:
        return text;
    }
  }
}

/** Reads a value once for each row. */
function once(read: Read): Read {
  let last: Row | undefined;
  let value: Value | undefined;
  return (row) => {
    if (row !== last) [last, value] = [row, read(row)];
    return value;
  };
}

function atPath({ type }: PathOperand, slice: SliceOf): Read {
  if (type === 'text') return (row) => textAt(row, slice(row));
  return (row) => {
    const found = slice(row);
    if (found === undefined) return undefined;
    return type === 'json' ? jsonAt(row, found) : jsonText(row.bytes, found.start, true);
  };
}

/**
 * The value of `->>`: the text of a scalar, JSON for an object or a list, NULL for JSON null and for JSON that is
 * nested too deep.
 */
function textAt(row: Row, slice: Slice | undefined): string | undefined {
  if (slice === undefined) return undefined;
  const first = row.bytes[slice.start];
  if (first === byte.openObject || first === byte.openList) return jsonText(row.bytes, slice.start);
  return scalarAt(row, slice);
}

function scalarAt({ bytes }: Row, slice: Slice | undefined): string | undefined {
  if (slice === undefined) return undefined;
  if (bytes[slice.start] === byte.quote) return textOf(bytes, slice.start, slice.end);
  const word = bytes.toString('latin1', slice.start, slice.end);
  return word === 'null' ? undefined : numberText(word);
}

function jsonAt(row: Row, { start, end }: Slice): JsonValue | undefined {
  const { bytes } = row;
  switch (bytes[start]) {
    case byte.openObject:
    case byte.openList: {
      const value = jsonText(bytes, start, true);
      const rank = bytes[start] === byte.openList ? ranks.list : ranks.object;
      return value === undefined ? undefined : { rank, value };
    }
    case byte.quote:
      return { rank: ranks.text, value: textOf(bytes, start, end) };
    default: {
      const word = bytes.toString('latin1', start, end);
      if (word === 'null') return { rank: ranks.null, value: null };
      const isNumber = word !== 'true' && word !== 'false';
      return isNumber ? { rank: ranks.number, value: word } : { rank: ranks.boolean, value: word === 'true' };
    }
  }
}
