// Evaluates the JSONPath of a CRD's printer column as k8s.io/client-go/util/jsonpath does with missing keys allowed. An
// index beyond the end of a list is an error, and a missing key finds nothing; both give an empty cell. A filter
// compares only values of the same type. Paths are written by the authors of CRDs and works, so what they cost is
// counted while they run: `....` finds a value once for each way to it, and a union repeats what it finds.
import { goNumber } from '../lib/json/exact-json.ts';
import { compareText } from '../lib/text/compare-text.ts';

/**
 * Evaluates one parsed path on an object, and returns the values that the path finds, in order.
 * @param shared how many values this path and others may walk over together; without it, only the path's own limit
 *   applies
 * @throws RangeError or TypeError when client-go's evaluation of the path would fail too; TooManyValues when the path
 *   walks over more than {@link mostValues} values, or `shared` is used up
 */
export type PrinterPath = (object: unknown, shared?: ValueBudget) => readonly unknown[];

type Step = (values: readonly unknown[], budget: ValueBudget) => readonly unknown[];

/**
 * How many values all steps of one evaluation may take and find together, also within filters. That takes some
 * milliseconds. A useful path finds one value, or some hundred in a long list.
 */
export const mostValues = 50_000;
/**
 * The same limit for all paths of one author on one object together, such as the columns of a row. It is higher than
 * the limit of one path, so that a path that uses up its own limit leaves some for the others.
 */
const mostOfAllPaths = 1.5 * mostValues;
/** Texts of this many characters count as one value when they are compared, or printed into a cell. */
const charactersCompared = 256;
const charactersPrinted = 32;

/** Thrown when a path walks over more than {@link mostValues} values, or all paths over more than they may together. */
export class TooManyValues extends RangeError {
  /** @param most the limit that was exceeded */
  constructor(most: number) {
    super(`the ${most === mostOfAllPaths ? 'paths together visit' : 'path visits'} more than ${most} values`);
  }
}

/** Counts down while paths are evaluated. */
export class ValueBudget {
  readonly #most: number;
  #left: number;
  readonly #shared: ValueBudget | undefined;

  private constructor(most: number, shared?: ValueBudget) {
    this.#most = most;
    this.#left = most;
    this.#shared = shared;
  }

  /** A budget for all paths of one author on one object. */
  static ofAllPaths(): ValueBudget {
    return new ValueBudget(mostOfAllPaths);
  }

  /** A budget for one path. @param shared a budget that is charged, too */
  static ofOnePath(shared?: ValueBudget): ValueBudget {
    return new ValueBudget(mostValues, shared);
  }

  /** @throws TooManyValues */
  spend(values: number): void {
    this.#shared?.spend(values);
    this.#left -= values;
    if (this.#left < 0) throw new TooManyValues(this.#most);
  }

  /** Counts text that is compared. @throws TooManyValues */
  compare(characters: number): void {
    this.spend(Math.ceil(characters / charactersCompared));
  }

  /** Counts text that is printed. @throws TooManyValues */
  print(characters: number): void {
    this.spend(Math.ceil(characters / charactersPrinted));
  }
}

/** Longest path in characters, for all paths that authors write. */
export const longestPath = 2048;
const deepestFilter = 4;
const stepBeginnings = /[.,[@$ "'+-]/g;

/**
 * Parses a path such as `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status` or `.metadata.labels.a\.b`.
 * @param parsing how many steps this path and others of its author may have together
 * @throws SyntaxError for an invalid path
 * @throws TooManyValues when `parsing` is used up
 */
export function parsePrinterPath(text: string, parsing?: ValueBudget): PrinterPath {
  if (text.length > longestPath) throw new SyntaxError('the path is too long');
  // Counts the steps by the characters that begin or separate them. The other characters are names, which cost little.
  parsing?.spend(1 + (text.match(stepBeginnings)?.length ?? 0));
  const steps = readSteps(text, 0);
  return (object, shared) => run(steps, [object], ValueBudget.ofOnePath(shared));
}

function run(steps: readonly Step[], start: readonly unknown[], budget: ValueBudget): readonly unknown[] {
  return steps.reduce<readonly unknown[]>((values, step) => {
    budget.spend(values.length + 1);
    return step(values, budget);
  }, start);
}

const terminators = ' \t\r\n.,[]$@{}';

function readSteps(text: string, depth: number): readonly Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < text.length;) {
    const char = text[at]!;
    if (text.startsWith('[?(', at)) {
      const end = filterEnd(text, at + 3);
      steps.push(filterStep(text.slice(at + 3, end), depth));
      at = end + 2;
    } else if (text.startsWith('..', at)) {
      steps.push(everything);
      at += 2;
      if (/[A-Za-z0-9_]/.test(text[at] ?? '')) at = readField(text, at, steps);
    } else if (char === '.') {
      at = readField(text, at + 1, steps);
    } else if (char === '[') {
      const end = text.indexOf(']', at);
      if (end < 0) throw new SyntaxError('unterminated array');
      steps.push(arrayStep(text.slice(at + 1, end)));
      at = end + 1;
    } else if (char === '@' || char === '$' || char === ' ') {
      at++;
    } else if (char === '"' || char === "'") {
      const end = quoteEnd(text, at);
      steps.push(constant(unquote(text.slice(at + 1, end))));
      at = end + 1;
    } else {
      const word = /^(?:[+-]?[\d.]+|true|false)(?=$|[ \t.,[\]$@{}])/.exec(text.slice(at))?.[0];
      if (word === undefined) throw new SyntaxError(`unrecognized character at ${at}`);
      steps.push(constant(word === 'true' || (word === 'false' ? false : numberOf(word))));
      at += word.length;
    }
  }
  return steps;
}

function numberOf(word: string): number | bigint {
  const value = Number(word);
  if (Number.isNaN(value)) throw new SyntaxError(`cannot parse number ${word}`);
  return Number.isSafeInteger(value) || word.includes('.') ? value : BigInt(word);
}

function constant(value: unknown): Step {
  return (values) => values.map(() => value);
}

function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) if (text[at] === text[start] && text[at - 1] !== '\\') return at;
  throw new SyntaxError('unterminated quoted string');
}

function unquote(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => ({ n: '\n', t: '\t' })[char] ?? char);
}

/**
 * Reads a field name from `start` up to the next terminator, adds its step to `steps`, and returns the position of the
 * terminator. A terminator after a backslash is part of the name.
 */
function readField(text: string, start: number, steps: Step[]): number {
  let at = start;
  while (at < text.length && !terminators.includes(text[at]!)) at += text[at] === '\\' ? 2 : 1;
  const name = text.slice(start, at).replaceAll('\\', '');
  if (name === '*') steps.push((values, budget) => values.flatMap((value) => childrenOf(value, budget)));
  else if (name !== '' || text.length > 1) steps.push((values) => values.flatMap((value) => fieldOf(value, name)));
  return Math.min(at, text.length);
}

function fieldOf(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return [];
  return [(value as Readonly<Record<string, unknown>>)[name]];
}

function childrenOf(value: unknown, budget: ValueBudget): readonly unknown[] {
  const children = typeof value === 'object' && value !== null ? Object.values(value) : [];
  budget.spend(children.length);
  return children;
}

/** The operator `..` of JSONPath: returns the objects and lists at any depth, parents before their children. */
function everything(values: readonly unknown[], budget: ValueBudget): readonly unknown[] {
  const found: unknown[] = [];
  const visit = (value: unknown): void => {
    const children = childrenOf(value, budget);
    if (children.length === 0) return;
    found.push(value);
    for (const child of children) visit(child);
  };
  for (const value of values) visit(value);
  return found;
}

const slicePattern = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/;

function arrayStep(inner: string): Step {
  const text = inner === '*' ? ':' : inner;
  const parts = text.split(',');
  if (parts.length > 1) {
    const union = parts.map((part) => arrayStep(part.trim()));
    return (values, budget) => union.flatMap((step) => run([step], values, budget));
  }
  const key = /^'([^']*)'$/.exec(text)?.[1];
  if (key !== undefined) {
    const steps: Step[] = [];
    let at = readField(key, 0, steps);
    while (key[at] === '.') at = readField(key, at + 1, steps);
    return (values, budget) => run(steps, values, budget);
  }
  const match = slicePattern.exec(text);
  if (match === null) throw new SyntaxError(`invalid array index ${text}`);
  const isIndex = !text.includes(':');
  const [first, last, step] = match
    .slice(1)
    .map((part) => (part === undefined || part === '' || part === '-' ? undefined : Number(part)));
  return (values, budget) =>
    values.flatMap((value) => {
      const found = sliceOf(value, first, isIndex ? (first ?? 0) + 1 : last, isIndex, step ?? 1);
      budget.spend(found.length);
      return found;
    });
}

function sliceOf(
  value: unknown,
  first: number | undefined,
  last: number | undefined,
  isIndex: boolean,
  step: number,
): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError('not a list');
  const { length } = value;
  const start = (first ?? 0) < 0 ? first! + length : (first ?? 0);
  let end = last ?? length;
  if (end < 0 || (end === 0 && isIndex)) end += length;
  if (start === end) return [];
  if (start < 0 || start >= length || end < 0 || end > length || start > end)
    throw new RangeError('array index out of bounds');
  if (step <= 0) throw new RangeError('step must be > 0');
  return value.slice(start, end).filter((_, i) => i % step === 0);
}

/** Returns the position of the `)` that closes a filter. A `)` inside quotes does not close it. */
function filterEnd(text: string, start: number): number {
  let quote = '';
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (quote !== '') {
      if (char === quote && text[at - 1] !== '\\') quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === ')') {
      if (text[at + 1] !== ']') throw new SyntaxError('unclosed array expect ]');
      return at;
    }
  }
  throw new SyntaxError('unterminated filter');
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '==': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

function filterStep(text: string, depth: number): Step {
  if (depth >= deepestFilter) throw new SyntaxError('filters are nested too deep');
  const operatorAt = text.search(/[!<>=]/);
  const operator = operatorAt <= 0 ? '' : /^[!<>=]+/.exec(text.slice(operatorAt))![0];
  if (operator === '' || operatorAt + operator.length >= text.length) {
    const steps = readSteps(text, depth + 1);
    return (values, budget) => elements(values, budget).filter((element) => tryRun(steps, element, budget).length > 0);
  }
  const compare = comparisons[operator];
  if (compare === undefined) throw new SyntaxError(`unrecognized filter operator ${operator}`);
  const isForEquality = operator === '==' || operator === '!=';
  const [leftText, rightText] = [text.slice(0, operatorAt), text.slice(operatorAt + operator.length)];
  const [left, right] = [readSteps(leftText, depth + 1), readSteps(rightText, depth + 1)];
  const onlyOf = (steps: readonly Step[], written: string, element: unknown, budget: ValueBudget): unknown => {
    const found = run(steps, [element], budget);
    if (found.length > 1) throw new TypeError('can only compare one element at a time');
    return found.length === 0 ? undefined : goValue(found[0], written);
  };
  return (values, budget) =>
    elements(values, budget).filter((element) => {
      const one = onlyOf(left, leftText, element, budget);
      if (one === undefined) return false;
      const other = onlyOf(right, rightText, element, budget);
      if (other === undefined) return false;
      if (typeof one === 'string' && typeof other === 'string') budget.compare(Math.min(one.length, other.length));
      return compare(orderOf(one, other, isForEquality));
    });
}

/** A number with a point that is written in the path, which is a float for client-go even if it is whole. */
const writtenFloat = /^\s*[+-]?\d*\.\d*\s*$/;

/** The value with the type that it has in Go: integers are bigints, floats are numbers. */
function goValue(value: unknown, written: string): unknown {
  if (typeof value !== 'number' && typeof value !== 'bigint') return value;
  return writtenFloat.test(written) ? Number(value) : goNumber(value);
}

function elements(values: readonly unknown[], budget: ValueBudget): readonly unknown[] {
  return values.flatMap((value) => {
    if (!Array.isArray(value)) throw new TypeError('not a list and cannot be filtered');
    budget.spend(value.length);
    return value as readonly unknown[];
  });
}

function tryRun(steps: readonly Step[], element: unknown, budget: ValueBudget): readonly unknown[] {
  try {
    return run(steps, [element], budget);
  } catch (error) {
    // Other errors mean that the element has no such value. When a limit is exceeded, the whole path fails, because the
    // filter would otherwise select the wrong elements.
    if (error instanceof TooManyValues) throw error;
    return [];
  }
}

/**
 * Compares two values of Go for a filter: negative when the left one is smaller, 0 when they are equal, positive when
 * it is larger. Texts are compared by their bytes.
 * @throws TypeError when the values have different types, or are booleans to be ordered, as comparisons of Go's
 *   text/template do. An integer and a float are different types
 */
function orderOf(left: unknown, right: unknown, isForEquality: boolean): number {
  if (typeof left !== typeof right || typeof left === 'object')
    throw new TypeError('incompatible types for comparison');
  if (typeof left === 'boolean' && !isForEquality) throw new TypeError('invalid type for comparison');
  if (typeof left === 'string') return compareText(left, right as string);
  return left === right ? 0 : (left as number) < (right as number) ? -1 : 1;
}
