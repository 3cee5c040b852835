// Whether a row satisfies the expression of `whereSQL`. Texts are compared by their bytes, as PostgreSQL does with
// collation C. A comparison with a value that the row does not have is never true. What JSON_EXTRACT gives is ordered
// as in MySQL: null, numbers, texts, objects, lists, booleans; two lists, or two objects, are only equal or not.
import { compareText } from '../lib/text/compare-text.ts';
import { asBuffer } from '../lib/json/raw-json.ts';
import { compare as compareNumbers, readComparable } from './comparable.ts';
import { compilePaths, readPaths } from './json-path.ts';
import { printPath } from './path.ts';
import type { RowKey } from './types.ts';
import { likeTest } from './like.ts';
import {
  columnSource,
  isStored,
  ObjectSource,
  pathOfColumn,
  ranks,
  type JsonValue,
  type PathOperand,
  type Read,
  type Row,
  type RowColumns,
  type Source,
  type Value,
} from './where-values.ts';
import type { Comparison, Leaf, Operand, Predicate, WhereColumn } from './predicate.ts';

type Test = (row: Row) => boolean;

/**
 * Prepares an expression. The returned function takes an object, as JSON bytes or parsed, and the key of its row.
 * @throws MalformedAnswer (the returned function) when bytes are not JSON
 */
export function compileWhere(predicate: Predicate): (document: unknown, key: RowKey) => boolean {
  const source = new ObjectSource();
  const test = testOf(predicate, source);
  const compiled = compilePaths(source.paths);
  return (document, key) => {
    const bytes = document instanceof Uint8Array ? asBuffer(document) : Buffer.from(JSON.stringify(document));
    return test({ bytes, key, found: readPaths(bytes, compiled).map(([slice]) => slice) });
  };
}

/** Whether an expression can be tested with {@link RowColumns} alone. */
export function isOfColumns(predicate: Predicate): boolean {
  return operandsIn(predicate).every(
    (operand) => operand.kind === 'literal' || (operand.kind === 'column' && isStored(operand.column)),
  );
}

/** The columns that an expression names. */
export function columnsIn(predicate: Predicate): ReadonlySet<WhereColumn> {
  return new Set(operandsIn(predicate).flatMap((operand) => (operand.kind === 'column' ? [operand.column] : [])));
}

/** Prepares an expression of which {@link isOfColumns} is true. The returned function takes the columns of a row. */
export function compileColumns(predicate: Predicate): (columns: RowColumns) => boolean {
  const test = testOf(predicate, columnSource);
  const bytes = Buffer.alloc(0);
  return (key) => test({ bytes, key, found: [] });
}

/** All values that an expression compares. */
function operandsIn(predicate: Predicate): readonly Operand[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.of.flatMap(operandsIn);
  return operandsOf(predicate);
}

/** The paths that an expression reads in each object, as users write them: one for each condition. */
export function pathsOf(predicate: Predicate): readonly string[] {
  return operandsIn(predicate).flatMap((operand) => pathOf(operand) ?? []);
}

/** The values that a condition compares. */
function operandsOf(leaf: Leaf): readonly Operand[] {
  if (leaf.kind === 'constant') return [];
  return leaf.kind === 'compare' ? [leaf.left, leaf.right] : [leaf.left];
}

function pathOf(operand: Operand): string | undefined {
  if (operand.kind === 'path') return printPath(operand.path) || 'object';
  return operand.kind === 'column' ? (pathOfColumn(operand.column) ?? operand.column) : undefined;
}

function testOf(predicate: Predicate, source: Source): Test {
  switch (predicate.kind) {
    case 'and': {
      const tests = predicate.of.map((one) => testOf(one, source));
      return (row) => tests.every((test) => test(row));
    }
    case 'or': {
      const tests = predicate.of.map((one) => testOf(one, source));
      return (row) => tests.some((test) => test(row));
    }
    case 'constant':
      return () => predicate.value;
    default:
      return leafTest(predicate, source);
  }
}

function leafTest(leaf: Exclude<Leaf, { kind: 'constant' }>, source: Source): Test {
  const read = readOf(leaf.left, source);
  switch (leaf.kind) {
    case 'compare':
      return comparisonTest(leaf.operator, read, readOf(leaf.right, source), orderOf(leaf.left, leaf.right));
    case 'null':
      return nullTest(leaf.left, read, source, leaf.isNegated);
    case 'in': {
      const texts: ReadonlySet<unknown> = new Set(leaf.texts);
      return known(read, (value) => texts.has(value) !== leaf.isNegated);
    }
    case 'like': {
      const isLike = likeTest(leaf.pattern, leaf.ignoresCase);
      const text = leaf.left.type === 'json' ? source.json((leaf.left as PathOperand).path) : read;
      return known(text, (value) => isLike(value as string) !== leaf.isNegated);
    }
  }
}

/**
 * The test of `IS NULL`. It looks at the JSON and not at the value's text, because a value that is nested too deep has
 * no text and is not NULL.
 */
function nullTest(operand: Operand, read: Read, source: Source, isNegated: boolean): Test {
  if (operand.kind !== 'path') return (row) => (read(row) === undefined) !== isNegated;
  const slice = source.slice(operand.path);
  const isNullToo = operand.type === 'text';
  return (row) => {
    const found = slice(row);
    const isNull = found === undefined || (isNullToo && row.bytes[found.start] === letterN);
    return isNull !== isNegated;
  };
}

/** The first byte of `null`. */
const letterN = 0x6e;

/** Makes a test that is false when the value is NULL. */
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

function readOf(operand: Operand, source: Source): Read {
  if (operand.kind === 'literal') {
    const { value } = operand;
    return () => value ?? undefined;
  }
  return operand.kind === 'column' ? source.column(operand.column) : source.value(operand);
}
