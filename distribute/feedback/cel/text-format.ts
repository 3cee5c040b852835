// `format` of texts (cel-go, ext/formatting_v2.go): what `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X` write; and
// the text of a value that `string()` gives.
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { goFloat } from '../../../lib/text/go-float.ts';
import { isMap, nanosecondsOf, numberOf, orderOfTexts } from './equality.ts';
import { CelFault, noOverload, type Steps } from './steps.ts';

/** Maximum number of digits after the point for `%f` and `%e`: toFixed() and toExponential() allow no more. */
const mostDigits = 100;
const defaultDigits = 6;

/**
 * Replaces the clauses in a text by the values. @throws CelFault for an unknown clause, or for a value of a type that
 * its clause does not accept
 */
export function formatText(text: string, values: readonly unknown[], steps: Steps): string {
  let next = 0;
  const out = text.replace(
    /%(?:(%)|(?:\.(\d*))?([^]?))/gu,
    (_all, percent?: string, digits?: string, clause?: string) => {
      if (percent !== undefined) return '%';
      if (next >= values.length) throw new CelFault(`index ${next} out of range`);
      if (clause === undefined || clause === '') throw new CelFault('unexpected end of string');
      const written = writtenAs(clause, values[next], precisionOf(digits), steps);
      next += 1;
      steps.spendText(written.length);
      return written;
    },
  );
  return out;
}

/** Checks the number of clauses in a literal text. @throws CelFault when there are fewer clauses than values */
export function checkFormat(text: string, values: number): void {
  const clauses = text.replaceAll('%%', '').split('%').length - 1;
  if (values > clauses)
    throw new CelFault(`too many arguments supplied to string.format (expected ${clauses}, got ${values})`);
}

function precisionOf(digits: string | undefined): number {
  if (digits === undefined) return defaultDigits;
  if (digits === '') throw clauseFault('error while parsing precision: error while converting precision to integer');
  if (Number(digits) > mostDigits) throw clauseFault(`more than ${mostDigits} digits`);
  return Number(digits);
}

function clauseFault(words: string): CelFault {
  return new CelFault(`could not parse formatting clause: ${words}`);
}

function writtenAs(clause: string, value: unknown, digits: number, steps: Steps): string {
  switch (clause) {
    case 's':
      return partText(value, steps);
    case 'd':
    case 'f':
    case 'e':
      return numberAs(clause, value, digits);
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      return digitsAs(clause, value);
    default:
      throw clauseFault(`unrecognized formatting clause "${clause}"`);
  }
}

function valueFault(words: string, value: unknown): CelFault {
  return new CelFault(`error during formatting: ${words}, was given ${typeNameOf(value)}`);
}

const numberClauses = { d: 'decimal', f: 'fixed-point', e: 'scientific' } as const;

function numberAs(clause: keyof typeof numberClauses, value: unknown, digits: number): string {
  const number = numberOf(value);
  if (number === undefined)
    throw valueFault(`${numberClauses[clause]} clause can only be used on ints, uints, and doubles`, value);
  if (clause === 'd') return typeof number === 'bigint' ? String(number) : decimalText(number);
  const word = wordOf(number);
  if (word !== undefined) return word;
  if (typeof number === 'bigint') return oddText(clause, number, digits);
  return clause === 'f' ? fixedText(number, digits) : powerText(number, digits);
}

/** An integer in binary, octal or hexadecimal. `%b` also writes booleans, `%x` also strings and bytes. */
function digitsAs(clause: 'b' | 'o' | 'x' | 'X', value: unknown): string {
  const number = numberOf(value);
  const whole = typeof number === 'bigint' ? number : undefined;
  switch (clause) {
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (whole === undefined) throw valueFault('only ints, uints, and bools can be formatted as binary', value);
      return whole.toString(2);
    case 'o':
      if (whole === undefined) throw valueFault('octal clause can only be used on ints and uints', value);
      return whole.toString(8);
    case 'x':
    case 'X': {
      const text = whole?.toString(16) ?? hexadecimal(value);
      if (text === undefined) throw valueFault('only ints, uints, bytes, and strings can be formatted as hex', value);
      return clause === 'X' ? text.toUpperCase() : text;
    }
  }
}

/** What Go's fmt writes for an integer with `%f` or `%e`, which accept only floating-point numbers: `%!f(int64=7)`. */
function oddText(clause: string, value: bigint, digits: number): string {
  const sign = value < 0n ? '-' : '';
  return `%!${clause}(int64=${sign}${String(value).replace('-', '').padStart(digits, '0')})`;
}

function wordOf(value: number | bigint): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  return value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : undefined;
}

/**
 * Writes a number as Go's strconv.FormatFloat does with format 'f' and precision -1: without exponent, with the fewest
 * digits.
 */
function decimalText(value: number): string {
  const word = wordOf(value);
  if (word !== undefined) return word;
  const text = String(value);
  const [, sign = '', first = '', rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === undefined) return Object.is(value, -0) ? '-0' : text;
  const power = Number(exponent);
  const digits = `${first}${rest}`;
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  return `${sign}${digits.padEnd(power + 1, '0')}`;
}

function fixedText(value: number, digits: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  // toFixed() writes larger numbers with an exponent; they have no fraction.
  if (size >= 1e21) return `${sign}${BigInt(size)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`;
  return `${sign}${halfToEven(size.toFixed(digits), size.toFixed(Math.min(mostDigits, digits + 40)), digits)}`;
}

/**
 * Corrects JavaScript's rounding: it rounds a half up, Go rounds a half to the even digit. @param longer the same
 * number with more digits
 */
function halfToEven(rounded: string, longer: string, digits: number): string {
  const point = longer.indexOf('.');
  if (point < 0) return rounded;
  const shorter = longer.slice(0, digits === 0 ? point : point + 1 + digits);
  const isHalf = /^50*$/.test(longer.slice(point + 1 + digits));
  return isHalf && /[02468]$/.test(shorter) && shorter.length === rounded.length ? shorter : rounded;
}

function powerText(value: number, digits: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  const [mantissaUp = '', exponent = '0'] = size.toExponential(digits).split('e');
  const [longer = ''] = size.toExponential(Math.min(mostDigits, digits + 40)).split('e');
  const mantissa = halfToEven(mantissaUp, longer, digits);
  const power = Number(exponent);
  return `${sign}${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function hexadecimal(value: unknown): string | undefined {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : undefined;
}

/** The text that `%s` writes for a value. */
function partText(value: unknown, steps: Steps): string {
  steps.spend(1);
  if (typeof value === 'string') return value;
  if (value === null) return 'null';
  if (typeof value === 'number') return decimalText(value);
  if (value instanceof Duration) return `${decimalText(Number(nanosecondsOf(value)) / 1e9)}s`;
  if (Array.isArray(value)) return paid(`[${value.map((each) => partText(each, steps)).join(', ')}]`, steps);
  if (isMap(value)) {
    const entries = Object.entries(value).map(([key, each]) => [key, partText(each, steps)] as const);
    const sorted = entries.toSorted(([one], [other]) => orderOfTexts(one, other));
    return paid(`{${sorted.map((entry) => entry.join(': ')).join(', ')}}`, steps);
  }
  const name = typeNameOf(value);
  if (name === 'type') return (value as { readonly name: string }).name;
  const text = simpleText(value);
  if (text !== undefined) return text;
  const takes = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';
  throw new CelFault(`error during formatting: string clause can only be used on ${takes}, was given ${name}`);
}

function paid(text: string, steps: Steps): string {
  steps.spendText(text.length);
  return text;
}

/**
 * CEL's `string()`.
 * @throws CelFault for a value of a type that `string()` does not accept
 */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return 'NaN';
    if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
    return Object.is(value, -0) ? '-0' : goFloat(value);
  }
  if (value instanceof Duration) return `${decimalText(Number(nanosecondsOf(value)) / 1e9)}s`;
  if (value instanceof Uint8Array) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
      throw new CelFault('invalid UTF-8 in bytes, cannot convert to string');
    }
  }
  const text = simpleText(value);
  if (text === undefined) throw noOverload();
  return text;
}

function simpleText(value: unknown): string | undefined {
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof UnsignedInt) return String(value.value);
  if (value instanceof Date) return value.toISOString().replace(/\.?0*Z$/, 'Z');
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : undefined;
}

/** The name of a value's type in error messages. */
export function typeNameOf(value: unknown): string {
  if (value === null) return 'null_type';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (Array.isArray(value)) return 'list';
  if (value instanceof UnsignedInt) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Date) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (isMap(value)) return 'map';
  const { typeName } = (value as { readonly constructor: { readonly typeName?: string } }).constructor;
  return typeName ?? (Object.prototype.toString.call(value).startsWith('[object Type<') ? 'type' : 'optional_type');
}
