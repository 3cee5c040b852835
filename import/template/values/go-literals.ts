// Reads numbers and quoted texts in Go's syntax (strconv.Unquote; go/constant as text/template uses it).
import { bytesOf } from './values.ts';

const simple: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92 };

/**
 * Returns the bytes of a quoted text, in which characters above 127 become UTF-8; undefined when it is not valid Go.
 * @param inner the text between the quotes
 */
export function unquote(inner: string, quote: string): string | undefined {
  let out = '';
  for (let i = 0; i < inner.length; i += 1) {
    const c = inner[i]!;
    if (c !== '\\') {
      const point = String.fromCodePoint(inner.codePointAt(i)!);
      out += bytesOf(point);
      i += point.length - 1;
      continue;
    }
    const escape = readEscape(inner, i + 1, quote);
    if (escape === undefined) return undefined;
    out += escape.bytes;
    i += escape.length;
  }
  return out;
}

function readEscape(
  inner: string,
  at: number,
  quote: string,
): { readonly bytes: string; readonly length: number } | undefined {
  const c = inner[at] ?? '';
  if (Object.hasOwn(simple, c)) return { bytes: String.fromCharCode(simple[c]!), length: 1 };
  if (c === quote) return { bytes: quote, length: 1 };
  const octal = /^[0-3][0-7]{2}/.exec(inner.slice(at, at + 3));
  if (octal !== null) return { bytes: String.fromCharCode(Number.parseInt(octal[0], 8)), length: 3 };
  const digits = { x: 2, u: 4, U: 8 }[c];
  if (digits === undefined) return undefined;
  const hex = inner.slice(at + 1, at + 1 + digits);
  if (!new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(hex)) return undefined;
  const value = Number.parseInt(hex, 16);
  if (c === 'x') return { bytes: String.fromCharCode(value), length: 3 };
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return undefined;
  return { bytes: bytesOf(String.fromCodePoint(value)), length: digits + 1 };
}

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

/** The value of a number in Go's syntax: an int64 (bigint) or a float64 (number). Undefined when it is neither. */
export function readNumber(text: string): bigint | number | undefined {
  if (/[.pP]/.test(text) || (/[eE]/.test(text) && !/^[+-]?0[xX]/.test(text))) {
    const value = Number(text.replaceAll('_', ''));
    return Number.isFinite(value) ? value : undefined;
  }
  return readInteger(text);
}

/** Reads a whole number as strconv.ParseInt does with base 0; undefined where that fails. */
export function readInteger(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const plain = digits.replaceAll('_', '');
  const isOctal = /^0[0-7]+$/.test(plain);
  if (!/^(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0|[1-9]\d*)$/.test(plain) && !isOctal) return undefined;
  const value = BigInt(isOctal ? `0o${plain.slice(1)}` : plain.toLowerCase()) * (sign === '-' ? -1n : 1n);
  return value < least || value > most ? undefined : value;
}

/** The value as an int64, wrapped around on overflow as in Go. */
export function wrapped(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}
