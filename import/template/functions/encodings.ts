// Base64, hashes and JSON as in Go. No function here uses random numbers, or reads anything from the operating system.
import { createHash } from 'node:crypto';
import type { Budget } from '../values/limits.ts';
import { TemplateError } from '../values/template-error.ts';
import {
  byBytes,
  bytesOf,
  exponentOf,
  goExponent,
  isList,
  isMap,
  textOf,
  valueOf,
  type Value,
} from '../values/values.ts';
import { fixed, type Functions } from './callable.ts';
import { parseJson } from '../../../lib/json/parse-json.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Decodes base64 (base64.StdEncoding). For text that is not base64 the result is the error message, as in sprig's
 * b64dec.
 */
function decoded(text: string): string {
  const fault = base64Fault(text);
  return fault === undefined
    ? Buffer.from(text, 'base64').toString('latin1')
    : `illegal base64 data at input byte ${fault}`;
}

/** The position at which Go's base64 decoder fails; undefined for valid base64. Line ends in the text are ignored. */
function base64Fault(text: string): number | undefined {
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at]!;
    if (c === '\r' || c === '\n') continue;
    if (alphabet.includes(c)) {
      digits = (digits + 1) % 4;
      continue;
    }
    if (c !== '=' || digits < 2) return at;
    return paddingFault(text, at, digits);
  }
  return digits === 0 ? undefined : text.length - digits;
}

/**
 * Checks the padding at `at`: `=` or `==`, and nothing after it except line ends.
 * @param digits how many digits of the last group of four were read: 2 or 3
 * @returns the position of the mistake; undefined when there is none
 */
function paddingFault(text: string, at: number, digits: number): number | undefined {
  let next = at + 1;
  const skipLines = (): void => {
    while (text[next] === '\r' || text[next] === '\n') next += 1;
  };
  if (digits === 2) {
    skipLines();
    if (next === text.length) return text.length;
    if (text[next] !== '=') return next - 1;
    next += 1;
  }
  skipLines();
  return next < text.length ? next : undefined;
}

/**
 * The JSON of a value as encoding/json writes it: keys are sorted, and `<`, `>` and `&` are escaped as `\u003c` unless
 * `raw` is true.
 */
function jsonOf(value: Value, raw: boolean, budget: Budget): string {
  budget.step();
  if (typeof value === 'string') budget.make(value.length);
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return jsonText(value, raw);
  if (typeof value === 'number') return jsonNumber(value);
  if (isList(value)) return `[${value.map((item) => jsonOf(item, raw, budget)).join(',')}]`;
  if (!isMap(value)) return String(value);
  const members = [...value].sort(([one], [other]) => byBytes(one, other));
  return `{${members.map(([key, member]) => `${jsonText(key, raw)}:${jsonOf(member, raw, budget)}`).join(',')}}`;
}

function jsonNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TemplateError('json: unsupported value');
  const power = value === 0 ? 0 : exponentOf(value);
  if (power >= -6 && power < 21)
    return power < -4 ? value.toFixed(Math.min(100, 20)).replace(/0+$/, '') : String(value);
  return goExponent(value.toExponential()).replace(/e-0(\d)$/, 'e-$1');
}

function jsonText(bytes: string, raw: boolean): string {
  const json = JSON.stringify(textOf(bytes)).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  const text = raw ? json : json.replaceAll('<', '\\u003c').replaceAll('>', '\\u003e').replaceAll('&', '\\u0026');
  return bytesOf(text);
}

/**
 * Parses JSON as json.Unmarshal into interface{}: every number becomes a float64. Gives null for invalid JSON, as
 * sprig's fromJson.
 */
function fromJson(bytes: string): Value {
  try {
    return withFloats(valueOf(parseJson(textOf(bytes))));
  } catch {
    return null;
  }
}

function withFloats(value: Value): Value {
  if (typeof value === 'bigint') return Number(value);
  if (isList(value)) return value.map(withFloats);
  if (isMap(value)) return new Map([...value].map(([key, member]) => [key, withFloats(member)]));
  return value;
}

const hash = (algorithm: string): ReturnType<typeof fixed> =>
  fixed(['string'], ([text]) => createHash(algorithm).update(Buffer.from(text, 'latin1')).digest('hex'));

export const encodings: Functions = {
  b64enc: fixed(['string'], ([text], budget) => {
    budget.make(text.length * 2);
    return Buffer.from(text, 'latin1').toString('base64');
  }),
  b64dec: fixed(['string'], ([text], budget) => {
    budget.make(text.length);
    return decoded(text);
  }),
  sha1sum: hash('sha1'),
  sha256sum: hash('sha256'),
  sha512sum: hash('sha512'),
  toJson: fixed(['any'], ([value], budget) => {
    const json = jsonOf(value, false, budget);
    budget.make(json.length);
    return json;
  }),
  toRawJson: fixed(['any'], ([value], budget) => {
    const json = jsonOf(value, true, budget);
    budget.make(json.length);
    return json;
  }),
  fromJson: fixed(['string'], ([text], budget) => {
    budget.step(Math.ceil(text.length / 16));
    return fromJson(text);
  }),
};
