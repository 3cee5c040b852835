// Gives YAML scalars the meaning that they have in Kubernetes programs, which read YAML with go-yaml (sigs.k8s.io/yaml,
// go.yaml.in/yaml/v2, resolve.go). Its rules are neither those of YAML 1.1 nor of 1.2: `0400` and `0o400` are 256,
// `yes` is true, `1:30` is a text, and so are `.` and `e2`.
import { goFloat } from '../text/go-float.ts';

/** The value of a scalar. An integer that a JavaScript number cannot hold exactly is a bigint. */
export type GoScalar = null | boolean | number | bigint | string;

/** Thrown for a scalar that go-yaml refuses or that JSON cannot express. The message does not quote the scalar. */
export class ScalarFault extends Error {
  override readonly name = 'ScalarFault';
}

const words: ReadonlyMap<string, GoScalar> = new Map<string, GoScalar>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);

const firstOfNumber = /^[-+0-9]/;
const integer = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0[bB]([01]+)|0([0-7]*)|([1-9][0-9]*))$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** A float that begins with a point. As in Go source code, underscores are allowed only between digits. */
const floatWithPoint = /^\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;
const digits = /^[-+]?[0-9]+$/;
/** A binary integer with its sign after the `0b`, which go-yaml accepts. */
const oddBinary = /^0b([-+][01]{1,63})$/;

const mostInt64 = 2n ** 63n - 1n;
const leastInt64 = -(2n ** 63n);
const mostUint64 = 2n ** 64n - 1n;

/**
 * The value of a plain scalar, which has neither quotes nor a tag. An integer beyond 64 bits keeps all its digits,
 * while go-yaml rounds it.
 * @returns may be NaN or an infinity, which JSON does not have
 */
export function plainScalar(text: string): GoScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text.startsWith('.')) return floatWithPoint.test(text) ? (finite(text.replaceAll('_', '')) ?? text) : text;
  if (!firstOfNumber.test(text)) return text;
  const plain = text.replaceAll('_', '');
  const whole = integerOf(plain);
  if (whole !== undefined) return asNumber(whole);
  if (float.test(plain)) {
    const value = finite(plain);
    if (value === undefined) return text;
    return digits.test(plain) ? asNumber(BigInt(plain.replace(/^\+/, ''))) : value;
  }
  const binary = oddBinary.exec(plain)?.[1];
  return binary === undefined ? text : asNumber(BigInt(`0b${binary.slice(1)}`) * (binary.startsWith('-') ? -1n : 1n));
}

/**
 * Whether a text must be quoted in YAML, because as a plain scalar some parser would read it as something other than
 * text.
 */
export function isMoreThanText(text: string): boolean {
  return text === '<<' || typeof plainScalar(text) !== 'string' || mayBeTakenForMore.test(text);
}

/**
 * Plain scalars that are texts for go-yaml but not for all other YAML parsers: numbers of base 60, dates and `=` (YAML
 * 1.1), numbers with commas (Ruby), and `.` and `e2` (the `yaml` of npm). go-yaml's own writer quotes the first two as
 * well.
 */
const mayBeTakenForMore =
  /^(?:[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\s].*)?|=|[-+]?[0-9][0-9_,]*|[-+]?[eE][-+]?[0-9]+|[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?)$/;

const yamlTag = 'tag:yaml.org,2002:';

/**
 * The value of a scalar with a tag.
 * @param tag in its long form, as `tag:yaml.org,2002:int`
 * @throws ScalarFault when the text is not of that type
 */
export function taggedScalar(tag: string, text: string): GoScalar {
  const name = tag.startsWith(yamlTag) ? tag.slice(yamlTag.length) : undefined;
  switch (name) {
    case 'binary':
      return decoded(text);
    case 'null':
    case 'bool':
    case 'int':
    case 'float': {
      const value = plainScalar(text);
      if (typeName(value, text) === name || (name === 'float' && typeName(value, text) === 'int')) return value;
      throw new ScalarFault(`this is no ${name}, as its tag says`);
    }
    case 'timestamp':
      if (timestamp.test(text)) return text;
      throw new ScalarFault('this is no timestamp, as its tag says');
    default:
      // go-yaml reads scalars with an unknown tag as text, like `!!str`.
      return text;
  }
}

const timestamp = /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt][0-9:.]+(?:Z|[-+][0-9]{2}:[0-9]{2})| [0-9:.]+)?$/;

function typeName(value: GoScalar, text: string): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'str';
  return integerOf(text.replaceAll('_', '')) !== undefined || oddBinary.test(text) ? 'int' : 'float';
}

function decoded(text: string): string {
  const packed = text.replaceAll(/[\r\n]/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(packed))
    throw new ScalarFault('its tag is !!binary, but it is not valid base64');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(atob(packed), (byte) => byte.charCodeAt(0)),
    );
  } catch {
    throw new ScalarFault('the base64 of !!binary is no UTF-8 text; use a field that takes base64, without the tag');
  }
}

/**
 * The field name for a plain scalar as mapping key: the key `on` becomes `true`, `1.10` becomes `1.1`.
 * @throws ScalarFault for null, and for an integer beyond int64, which kubectl refuses too
 */
export function plainKey(text: string): string {
  const value = plainScalar(text);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (value === null) throw new ScalarFault('a key is empty or null; write it in quotes');
  const whole = integerOf(text.replaceAll('_', ''));
  if (whole === undefined) return floatKey(Number(value));
  if (whole > mostInt64) throw new ScalarFault('a key is a number of more than 64 bits; write it in quotes');
  return String(whole);
}

/** A float as a field name, as sigs.k8s.io/yaml prints it: rounded to a float32. */
function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf';
  let places = 0;
  while (Math.fround(Number(single.toExponential(places))) !== single) places += 1;
  return Object.is(single, -0) ? '-0' : goFloat(Number(single.toExponential(places)));
}

/**
 * Parses an integer as Go's strconv.ParseInt and ParseUint do with base 0 and 64 bits; undefined when both refuse it.
 */
function integerOf(plain: string): bigint | undefined {
  const [found, sign, hexadecimal, octal, binary, zeros, decimal] = integer.exec(plain) ?? [];
  // A longer text has more than 64 bits, or very many leading zeros. BigInt() would take more than linear time for it.
  if (found === undefined || found.length > 70) return undefined;
  const text =
    (hexadecimal !== undefined && `0x${hexadecimal}`) ||
    (octal !== undefined && `0o${octal}`) ||
    (binary !== undefined && `0b${binary}`) ||
    (zeros !== undefined && `0o0${zeros}`) ||
    decimal!;
  const value = sign === '-' ? -BigInt(text) : BigInt(text);
  const most = sign === '' ? mostUint64 : mostInt64;
  return value < leastInt64 || value > most ? undefined : value;
}

function asNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The number in the text; undefined when it is too large for a double, in which case go-yaml reads it as text. */
function finite(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
