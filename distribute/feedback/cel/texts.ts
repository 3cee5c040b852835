// cel-go's library of texts (ext/strings.go), which counts characters as code points.
import { formatText, textOf } from './text-format.ts';
import type { Library } from './library.ts';
import { CelFault } from './steps.ts';

/** Registers the methods of texts, `join` of lists of them, `strings.quote` and `string()`. */
export function addTexts(library: Library): void {
  const { add, steps } = library;
  add('string.charAt(int): string', (text: string, at: bigint) => {
    const points = pointsOf(text, library);
    if (at < 0n || at > BigInt(points.length)) throw outOfRange(at);
    return points[Number(at)] ?? '';
  });
  addIndexes(library);
  add('string.lowerAscii(): string', (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()));
  add('string.upperAscii(): string', (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()));
  add('string.replace(string, string): string', (text: string, old: string, by: string) =>
    replaced(text, old, by, -1n, library),
  );
  add('string.replace(string, string, int): string', (text: string, old: string, by: string, limit: bigint) =>
    replaced(text, old, by, limit, library),
  );
  add('string.split(string): list<string>', (text: string, by: string) => split(text, by, -1n, library));
  add('string.split(string, int): list<string>', (text: string, by: string, limit: bigint) =>
    split(text, by, limit, library),
  );
  add('string.substring(int): string', (text: string, from: bigint) => {
    const points = pointsOf(text, library);
    if (from < 0n || from > BigInt(points.length)) throw outOfRange(from);
    return points.slice(Number(from)).join('');
  });
  add('string.substring(int, int): string', (text: string, from: bigint, to: bigint) => {
    const points = pointsOf(text, library);
    if (from > to) throw new CelFault(`invalid substring range. start: ${from}, end: ${to}`);
    for (const end of [from, to]) if (end < 0n || end > BigInt(points.length)) throw outOfRange(end);
    return points.slice(Number(from), Number(to)).join('');
  });
  // Replaces the CEL package's `contains` too: `sets.contains` is registered under our prefix, so every method
  // `contains` is renamed.
  add('string.contains(string): bool', (text: string, part: string) => text.includes(part));
  add('string.trim(): string', trimmed);
  add('string.reverse(): string', (text: string) => pointsOf(text, library).toReversed().join(''));
  add('string.format(list): string', (text: string, values: readonly unknown[]) => formatText(text, values, steps));
  add('list<string>.join(): string', (list: readonly unknown[]) => joined(list, '', library));
  add('list<string>.join(string): string', (list: readonly unknown[], by: string) => joined(list, by, library));
  library.addNamespace('strings', 'StringsNamespace');
  add('StringsNamespace.quote(string): string', (_: unknown, text: string) => {
    const quoted = text.replace(/[\x07-\x0d"\\]/g, (character) => escapes[character]!);
    return `"${quoted.toWellFormed()}"`;
  });
  for (const type of ['string', 'bool', 'int', 'uint', 'double', 'bytes', ...timeTypes])
    add(`string(${type}): string`, (value: unknown) => textOf(value));
}

const timeTypes = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

/**
 * `indexOf` and `lastIndexOf`. Their positions count code points. The search itself works on UTF-16 code units, which
 * finds the same matches.
 */
function addIndexes(library: Library): void {
  const { add } = library;
  const first = (text: string, part: string, from: bigint): bigint => {
    if (part === '') return from;
    const start = startOf(text, from, library);
    return start === undefined ? -1n : pointsBefore(text, text.indexOf(part, start));
  };
  const last = (text: string, part: string, from: bigint): bigint => {
    if (part === '') return from;
    const start = startOf(text, from, library);
    return start === undefined ? -1n : pointsBefore(text, text.lastIndexOf(part, start));
  };
  add('string.indexOf(string): int', (text: string, part: string) => first(text, part, 0n));
  add('string.indexOf(string, int): int', first);
  add('string.lastIndexOf(string): int', (text: string, part: string) => {
    const length = BigInt(pointsOf(text, library).length);
    return part === '' || length === 0n ? (part === '' ? length : -1n) : last(text, part, length - 1n);
  });
  add('string.lastIndexOf(string, int): int', last);
}

/** The index of the code unit at which the code point with index `at` begins; undefined behind the end of the text. */
function startOf(text: string, at: bigint, library: Library): number | undefined {
  if (at < 0n) throw outOfRange(at);
  const points = pointsOf(text, library);
  return at >= BigInt(points.length) ? undefined : points.slice(0, Number(at)).join('').length;
}

/** The characters (code points) of a text. Counts one step for each. */
function pointsOf(text: string, { steps }: Library): readonly string[] {
  steps.spend(Math.ceil(text.length / 4));
  return [...text];
}

function pointsBefore(text: string, unit: number): bigint {
  return unit < 0 ? -1n : BigInt([...text.slice(0, unit)].length);
}

function outOfRange(at: bigint): CelFault {
  return new CelFault(`index out of range: ${at}`);
}

/** Go's strings.Replace: an empty `old` matches before every character and at the end. */
function replaced(text: string, old: string, by: string, limit: bigint, library: Library): string {
  const parts = old === '' ? ['', ...pointsOf(text, library), ''] : split(text, old, -1n, library);
  const matches = parts.length - 1;
  const count = limit < 0n || limit > BigInt(matches) ? matches : Number(limit);
  library.steps.spendText(count * by.length);
  return parts.map((part, i) => (i === 0 ? '' : i <= count ? by : old) + part).join('');
}

/** Splits a text as Go's strings.SplitN does. */
function split(text: string, by: string, limit: bigint, library: Library): string[] {
  if (limit === 0n) return [];
  library.steps.spendText(text.length);
  const parts = by === '' ? [...pointsOf(text, library)] : text.split(by);
  library.steps.spend(parts.length);
  if (limit < 0n || BigInt(parts.length) <= limit) return parts;
  const whole = Number(limit) - 1;
  return [...parts.slice(0, whole), parts.slice(whole).join(by)];
}

function joined(list: readonly unknown[], by: string, { steps }: Library): string {
  const other = list.find((each) => typeof each !== 'string');
  if (other !== undefined) throw new CelFault('join: invalid input: a value that is no string');
  let length = 0;
  for (const each of list) length += (each as string).length + by.length;
  steps.spend(list.length);
  steps.spendText(length);
  return list.join(by);
}

/** The characters of Go's unicode.IsSpace, which strings.TrimSpace removes. */
const space = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

function trimmed(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && space.test(text[from]!)) from += 1;
  while (to > from && space.test(text[to - 1]!)) to -= 1;
  return text.slice(from, to);
}
