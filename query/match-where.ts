// Whether a row satisfies the expression of `whereSQL`. Texts are compared by their bytes, as PostgreSQL does with
// collation C. A comparison with a value that the row does not have is never true. What JSON_EXTRACT gives is ordered
// as in MySQL: null, numbers, texts, objects, lists, booleans; two lists, or two objects, are only equal or not.
import { parseExact } from '../lib/json/exact-json.ts';
import { byte, textOf } from '../lib/json/json-scan.ts';
import { compareText } from '../lib/text/compare-text.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import { compare as compareNumbers, readComparable } from './comparable.ts';
import { compilePaths, readPaths, type Slice } from './json-path.ts';
import { printPath } from './path.ts';
import { controllerOf } from './owner-references.ts';
import type { RowKey } from './types.ts';
import { jsonText, numberText } from './json-text.ts';
import { likeTest } from './like.ts';
import type { Comparison, Leaf, Operand, Predicate, Reference, WhereColumn } from './predicate.ts';

/** A row while its conditions are tested. */
interface Row {
  readonly bytes: Buffer;
  readonly key: RowKey;
  /** What is at each path; undefined for nothing. */
  readonly found: readonly (Slice | undefined)[];
}

/** A value of JSON in MySQL's order: first by rank, then by value. */
interface JsonValue {
  readonly rank: number;
  readonly value: string | boolean | null;
}

type Value = string | number | boolean | JsonValue;
/** Reads a value of a row; undefined stands for NULL. */
type Read = (row: Row) => Value | undefined;
type Test = (row: Row) => boolean;

const ranks = { null: 0, number: 1, text: 2, object: 3, list: 4, boolean: 5 } as const;

/**
 * Prepares an expression. The returned function takes an object, as JSON bytes or parsed, and the key of its row.
 * @throws MalformedAnswer (the returned function) when bytes are not JSON
 */
export function compileWhere(predicate: Predicate): (document: unknown, key: RowKey) => boolean {
  const paths = new Paths();
  const test = testOf(predicate, paths);
  const compiled = compilePaths(paths.all);
  return (document, key) => {
    const bytes = bytesOf(document);
    return test({ bytes, key, found: readPaths(bytes, compiled).map(([slice]) => slice) });
  };
}

/** The paths that an expression reads in each object, as users write them: one for each condition. */
export function pathsOf(predicate: Predicate): readonly string[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.of.flatMap(pathsOf);
  return operandsOf(predicate).flatMap((operand) => pathOf(operand) ?? []);
}

/** The values that a condition compares. */
export function operandsOf(leaf: Leaf): readonly Operand[] {
  if (leaf.kind === 'constant') return [];
  return leaf.kind === 'compare' ? [leaf.left, leaf.right] : [leaf.left];
}

const inObject: Readonly<Partial<Record<WhereColumn, string>>> = {
  kind: 'kind',
  version: 'apiVersion',
  uid: 'metadata.uid',
  owner_uid: 'metadata.ownerReferences',
  created_at: 'metadata.creationTimestamp',
};

function pathOf(operand: Operand): string | undefined {
  if (operand.kind === 'path') return printPath(operand.path) || 'object';
  return operand.kind === 'column' ? (inObject[operand.column] ?? operand.column) : undefined;
}

/** The distinct paths of an expression, each with its number. */
class Paths {
  readonly all: (readonly PathStep[])[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(path: readonly PathStep[]): number {
    const text = printPath(path);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.all.length);
    return this.all.push(path) - 1;
  }
}

function bytesOf(document: unknown): Buffer {
  if (!(document instanceof Uint8Array)) return Buffer.from(JSON.stringify(document));
  return Buffer.from(document.buffer, document.byteOffset, document.byteLength);
}

function testOf(predicate: Predicate, paths: Paths): Test {
  switch (predicate.kind) {
    case 'and': {
      const tests = predicate.of.map((one) => testOf(one, paths));
      return (row) => tests.every((test) => test(row));
    }
    case 'or': {
      const tests = predicate.of.map((one) => testOf(one, paths));
      return (row) => tests.some((test) => test(row));
    }
    case 'constant':
      return () => predicate.value;
    default:
      return leafTest(predicate, paths);
  }
}

function leafTest(leaf: Exclude<Leaf, { kind: 'constant' }>, paths: Paths): Test {
  const read = readOf(leaf.left, paths);
  switch (leaf.kind) {
    case 'compare':
      return comparisonTest(leaf.operator, read, readOf(leaf.right, paths), orderOf(leaf.left, leaf.right));
    case 'null':
      return nullTest(leaf.left, read, paths, leaf.isNegated);
    case 'in': {
      const texts: ReadonlySet<unknown> = new Set(leaf.texts);
      return known(read, (value) => texts.has(value) !== leaf.isNegated);
    }
    case 'like': {
      const isLike = likeTest(leaf.pattern, leaf.ignoresCase);
      const text = leaf.left.type === 'json' ? jsonAsText(leaf.left, paths) : read;
      return known(text, (value) => isLike(value as string) !== leaf.isNegated);
    }
  }
}

/** `IS NULL`. It looks at what is there, and not at its text: a value that is nested too deep has none. */
function nullTest(operand: Operand, read: Read, paths: Paths, isNegated: boolean): Test {
  if (operand.kind !== 'path') return (row) => (read(row) === undefined) !== isNegated;
  const slice = sliceAt(operand.path, paths);
  const isNullToo = operand.type === 'text';
  return (row) => {
    const found = slice(row);
    const isNull = found === undefined || (isNullToo && row.bytes[found.start] === letterN);
    return isNull !== isNegated;
  };
}

/** The first byte of `null`. */
const letterN = 0x6e;

/** A test of a value that is false for NULL. */
function known(read: Read, test: (value: Value) => boolean): Test {
  return (row) => {
    const value = read(row);
    return value !== undefined && test(value);
  };
}

/** The order of two values: 0 for equal ones; undefined when they are neither equal nor in an order. */
type Order = (one: Value, other: Value) => number | undefined;

const accepts: Readonly<Record<Comparison, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

function comparisonTest(operator: Comparison, left: Read, right: Read, order: Order): Test {
  const isWanted = accepts[operator];
  return (row) => {
    const [one, other] = [left(row), right(row)];
    if (one === undefined || other === undefined) return false;
    const found = order(one, other);
    return found === undefined ? operator === '<>' : isWanted(found);
  };
}

function orderOf(left: Operand, right: Operand): Order {
  if (left.type === 'json' || right.type === 'json') {
    const asJson = (value: Value, { type }: Operand): JsonValue =>
      type === 'json'
        ? (value as JsonValue)
        : { rank: ranks[type as 'text' | 'number' | 'boolean'], value: value as string | boolean };
    return (one, other) => jsonOrder(asJson(one, left), asJson(other, right));
  }
  switch (left.type) {
    case 'number':
      return (one, other) => numberOrder(one as string, other as string);
    case 'time':
      return (one, other) => (one as number) - (other as number);
    case 'boolean':
      return (one, other) => Number(one) - Number(other);
    default:
      return (one, other) => compareText(one as string, other as string);
  }
}

function numberOrder(one: string, other: string): number | undefined {
  const [a, b] = [readComparable(one), readComparable(other)];
  return a === undefined || b === undefined ? undefined : compareNumbers(a, b);
}

function jsonOrder(one: JsonValue, other: JsonValue): number | undefined {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.rank === ranks.number) return numberOrder(one.value as string, other.value as string);
  if (one.rank === ranks.text) return compareText(one.value as string, other.value as string);
  if (one.rank === ranks.boolean) return Number(one.value) - Number(other.value);
  return one.value === other.value ? 0 : undefined;
}

function readOf(operand: Operand, paths: Paths): Read {
  if (operand.kind === 'literal') {
    const { value } = operand;
    return () => value ?? undefined;
  }
  return operand.kind === 'column' ? columnOf(operand.column, paths) : atPath(operand, paths);
}

function columnOf(column: WhereColumn, paths: Paths): Read {
  const inRow: Partial<Record<WhereColumn, Read>> = {
    cluster: ({ key }) => key.cluster,
    namespace: ({ key }) => key.namespace,
    name: ({ key }) => key.name,
    resource: ({ key: { type } }) => type.slice(0, type.indexOf('.')),
    group: ({ key: { type } }) => type.slice(type.indexOf('.') + 1),
  };
  const read = inRow[column];
  if (read !== undefined) return read;
  const path = inObject[column]!.split('.').map((key): PathStep => ({ kind: 'key', key }));
  const json = sliceAt(path, paths);
  const text: Read = (row) => scalarAt(row, json(row)) ?? '';
  if (column === 'owner_uid') {
    return (row) => {
      const slice = json(row);
      return slice === undefined ? '' : controllerOf(parseExact(row.bytes.subarray(slice.start, slice.end)));
    };
  }
  if (column === 'version') return (row) => (text(row) as string).split('/').at(-1);
  if (column !== 'created_at') return text;
  return (row) => {
    const ms = Date.parse(text(row) as string);
    return Number.isNaN(ms) ? undefined : ms;
  };
}

type SliceOf = (row: Row) => Slice | undefined;

function sliceAt(path: readonly PathStep[], paths: Paths): SliceOf {
  const number = paths.numberOf(path);
  return ({ found }) => found[number];
}

function atPath({ path, type }: Extract<Reference, { kind: 'path' }>, paths: Paths): Read {
  const slice = sliceAt(path, paths);
  if (type === 'text') return (row) => textAt(row, slice(row));
  return (row) => {
    const found = slice(row);
    if (found === undefined) return undefined;
    return type === 'json' ? jsonAt(row, found) : jsonText(row.bytes, found.start, true);
  };
}

/** What `->>` gives: the text of a scalar, JSON for an object or a list, NULL for null and for what is too deep. */
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

/** The JSON at a path as MySQL's LIKE sees it: a text has its quotes. */
function jsonAsText(operand: Operand, paths: Paths): Read {
  const slice = sliceAt((operand as Extract<Reference, { kind: 'path' }>).path, paths);
  return (row) => {
    const found = slice(row);
    return found === undefined ? undefined : jsonText(row.bytes, found.start);
  };
}
