// fmt.Sprintf, fmt.Sprint and strconv.Quote of Go, for the values of templates.
import type { Budget } from '../values/limits.ts';
import {
  byBytes,
  exponentOf,
  goExponent,
  isList,
  isMap,
  printed,
  printedFloat,
  sortedKeys,
  textOf,
  typeName,
  bytesOf,
  type Value,
} from '../values/values.ts';

const widest = 10_000;

interface Verb {
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number;
  /** The number after the dot of a verb, such as 2 in `%.2f`; -1 when the verb has none. */
  readonly precision: number;
  readonly letter: string;
}

const pattern = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?([\s\S]|$)/g;

/**
 * Formats the arguments. Mistakes in the format do not throw, but appear in the result, such as `%!d(string=x)`, as in
 * Go.
 */
export function sprintf(format: string, args: readonly Value[], budget: Budget): string {
  let used = 0;
  let out = format.replace(pattern, (_, flags: string, width?: string, precision?: string, letter = '') => {
    if (letter === '%') return '%';
    if (letter === '') return '%!(NOVERB)';
    const number = (text: string | undefined, none: number): number => {
      if (text === undefined) return none;
      return Math.min(text === '*' ? Number(args[used++] ?? 0) : Number(text), widest);
    };
    const verb: Verb = {
      minus: flags.includes('-'),
      plus: flags.includes('+'),
      sharp: flags.includes('#'),
      space: flags.includes(' '),
      zero: flags.includes('0') && !flags.includes('-'),
      width: number(width, 0),
      precision: number(precision, -1),
      letter,
    };
    if (used >= args.length) return `%!${letter}(BADINDEX)`.replace('BADINDEX', 'MISSING');
    const text = formatted(args[used++], verb, budget);
    budget.make(text.length);
    return text;
  });
  if (used < args.length)
    out += `%!(EXTRA ${args
      .slice(used)
      .map((arg) => (arg === undefined || arg === null ? '<nil>' : `${typeName(arg)}=${printed(arg, budget)}`))
      .join(', ')})`;
  budget.make(out.length);
  return out;
}

function formatted(value: Value, verb: Verb, budget: Budget): string {
  budget.step();
  const { letter } = verb;
  if (letter === 'T') return padded(value === null || value === undefined ? '<nil>' : typeName(value), verb);
  if (value === null || value === undefined) return letter === 'v' ? padded('<nil>', verb) : `%!${letter}(<nil>)`;
  const inside = (item: Value): string =>
    item === null || item === undefined ? '<nil>' : formatted(item, verb, budget);
  if (isList(value)) return `[${value.map(inside).join(' ')}]`;
  if (isMap(value)) {
    const inner = sortedKeys(value).map((key) => `${formatted(key, verb, budget)}:${inside(value.get(key))}`);
    return `map[${inner.join(' ')}]`;
  }
  const text = scalar(value, verb);
  return text ?? `%!${letter}(${typeName(value)}=${printed(value, budget)})`;
}

function scalar(value: boolean | bigint | number | string, verb: Verb): string | undefined {
  if (typeof value === 'boolean') return 'vt'.includes(verb.letter) ? padded(String(value), verb) : undefined;
  if (typeof value === 'bigint') return integerText(value, verb);
  if (typeof value === 'number') return floatText(value, verb);
  return stringText(value, verb);
}

const bases: Readonly<Record<string, number>> = { d: 10, v: 10, b: 2, o: 8, x: 16, X: 16 };
const prefixes: Readonly<Record<string, string>> = { b: '0b', o: '0', x: '0x', X: '0X' };

function integerText(value: bigint, verb: Verb): string | undefined {
  const { letter } = verb;
  if (letter === 'c') return padded(bytesOf(String.fromCodePoint(Number(value))), verb);
  if (letter === 'q') return padded(`'${bytesOf(String.fromCodePoint(Number(value)))}'`, verb);
  if (letter === 'U') return padded(`U+${value.toString(16).toUpperCase().padStart(4, '0')}`, verb);
  if (letter === 'O') return numberText(value, `0o${absolute(value).toString(8)}`, verb);
  const base = bases[letter];
  if (base === undefined) return undefined;
  let digits = absolute(value).toString(base).padStart(Math.max(verb.precision, 0), '0');
  if (letter === 'X') digits = digits.toUpperCase();
  return numberText(value, (verb.sharp ? (prefixes[letter] ?? '') : '') + digits, verb);
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** The digits with their sign. When the verb pads with zeros, they come between sign and digits. */
function numberText(value: bigint | number, digits: string, verb: Verb): string {
  const isNegative = value < 0 || Object.is(value, -0);
  const sign = isNegative ? '-' : verb.plus ? '+' : verb.space ? ' ' : '';
  const fills = verb.zero && (typeof value === 'number' || verb.precision < 0);
  return fills ? sign + digits.padStart(verb.width - sign.length, '0') : padded(sign + digits, verb);
}

function floatText(value: number, verb: Verb): string | undefined {
  const { letter, precision } = verb;
  if (!'vgGeEfF'.includes(letter)) return undefined;
  if (!Number.isFinite(value)) return padded(printedFloat(value).replace('+', verb.plus ? '+' : ''), verb);
  const size = Math.abs(value);
  let digits: string;
  if (letter === 'f' || letter === 'F') digits = size.toFixed(Math.min(precision < 0 ? 6 : precision, 100));
  else if (letter === 'e' || letter === 'E')
    digits = goExponent(size.toExponential(Math.min(precision < 0 ? 6 : precision, 100)));
  else digits = precision < 0 ? printedFloat(size) : shortFloat(size, Math.max(precision, 1));
  return numberText(value, letter === letter.toUpperCase() ? digits.toUpperCase() : digits, verb);
}

/** The text of a float with this many significant digits, like Go's `%.3g`. */
function shortFloat(value: number, precision: number): string {
  const exponential = value.toExponential(Math.min(precision - 1, 100));
  const power = exponentOf(Number(exponential));
  if (value !== 0 && (power < -4 || power >= precision)) return goExponent(exponential.replace(/\.?0+e/, 'e'));
  const text = value.toFixed(Math.min(Math.max(precision - 1 - power, 0), 100));
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function stringText(value: string, verb: Verb): string | undefined {
  const { letter, precision } = verb;
  const cut = precision < 0 ? value : bytesOf([...textOf(value)].slice(0, precision).join(''));
  switch (letter) {
    case 's':
    case 'v':
      return padded(cut, verb);
    case 'q':
      return padded(verb.sharp && !cut.includes('`') ? `\`${cut}\`` : quoted(cut), verb);
    case 'x':
    case 'X': {
      const hex = Buffer.from(cut, 'latin1').toString('hex');
      return padded(letter === 'X' ? hex.toUpperCase() : hex, verb);
    }
    default:
      return undefined;
  }
}

/** Pads a text with blanks or zeros up to the verb's width. The width counts characters, not bytes. */
function padded(text: string, { width, minus, zero }: Verb): string {
  const missing = width - [...textOf(text)].length;
  if (missing <= 0) return text;
  return minus ? text + ' '.repeat(missing) : (zero ? '0' : ' ').repeat(missing) + text;
}

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** The text in double quotes with Go's escapes (strconv.Quote). */
export function quoted(bytes: string): string {
  let out = '';
  const buffer = Buffer.from(bytes, 'latin1');
  for (let at = 0; at < buffer.length;) {
    const length = sequenceLength(buffer, at);
    if (length === 0) {
      out += `\\x${buffer[at]!.toString(16).padStart(2, '0')}`;
      at += 1;
      continue;
    }
    out += quotedCharacter(buffer.toString('utf8', at, at + length));
    at += length;
  }
  return `"${out}"`;
}

function quotedCharacter(character: string): string {
  if (Object.hasOwn(escapes, character)) return escapes[character]!;
  const point = character.codePointAt(0)!;
  if (point < 0x20 || point === 0x7f) return `\\x${point.toString(16).padStart(2, '0')}`;
  if (/^(?:[\p{L}\p{M}\p{N}\p{P}\p{S}]| )$/u.test(character)) return bytesOf(character);
  return point > 0xffff ? `\\U${point.toString(16).padStart(8, '0')}` : `\\u${point.toString(16).padStart(4, '0')}`;
}

/** Length in bytes of the UTF-8 character at this position; 0 when the bytes there are not UTF-8. */
function sequenceLength(buffer: Buffer, at: number): number {
  const first = buffer[at]!;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length <= 1) return length;
  const text = buffer.toString('utf8', at, at + length);
  return text.includes('\ufffd') && !buffer.subarray(at, at + 3).equals(replacement) ? 0 : length;
}

const replacement = Buffer.from('\ufffd');

/** Joins values as fmt.Sprint does: with a blank between two values when neither is a text. */
export function sprint(args: readonly Value[], budget: Budget): string {
  let out = '';
  for (const [i, arg] of args.entries()) {
    if (i > 0 && typeof arg !== 'string' && typeof args[i - 1] !== 'string') out += ' ';
    out += printed(arg, budget);
  }
  return out;
}

/** The texts sorted by bytes. */
export function sortedTexts(texts: readonly string[]): readonly string[] {
  return texts.toSorted(byBytes);
}
