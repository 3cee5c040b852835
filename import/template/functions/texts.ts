// Functions that work on texts (sprig's strings.go).
import type { Budget } from '../values/limits.ts';
import { TemplateError } from '../values/template-error.ts';
import { bytesOf, isList, printed, textOf, type Value } from '../values/values.ts';
import { fixed, variadic, type Functions } from './callable.ts';
import { quoted, sortedTexts, sprint, sprintf } from './format.ts';

/** Converts any value to a list of texts, as sprig does. Nil elements are left out. */
export function textList(value: Value, budget: Budget): readonly string[] {
  if (value === null || value === undefined) return [];
  if (!isList(value)) return [printed(value, budget)];
  return value.filter((item) => item !== null && item !== undefined).map((item) => printed(item, budget));
}

const goSpace = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

/** Removes white space at both ends (strings.TrimSpace). */
function trimmed(bytes: string): string {
  const characters = [...textOf(bytes)];
  // A text that is not UTF-8 must keep its bytes, so only ASCII blanks are removed.
  if (bytesOf(characters.join('')) !== bytes)
    return bytes.replace(/^[\t-\r ]+/, '').replace(/(?<![\t-\r ])[\t-\r ]+$/, '');
  let [start, end] = [0, characters.length];
  while (start < end && goSpace.test(characters[start]!)) start += 1;
  while (end > start && goSpace.test(characters[end - 1]!)) end -= 1;
  return bytesOf(characters.slice(start, end).join(''));
}

/** Removes all characters that are in `set` from both ends (strings.Trim). */
function trimmedOf(set: string, bytes: string): string {
  const cut = new Set(textOf(set));
  const characters = [...textOf(bytes)];
  let [start, end] = [0, characters.length];
  while (start < end && cut.has(characters[start]!)) start += 1;
  while (end > start && cut.has(characters[end - 1]!)) end -= 1;
  return bytesOf(characters.slice(start, end).join(''));
}

/**
 * Replaces each character by the result of `change`, unless the result would be two characters: Go never maps one
 * character to two.
 */
function mapped(bytes: string, change: (character: string) => string): string {
  let out = '';
  for (const character of textOf(bytes)) {
    const other = change(character);
    out += [...other].length === 1 ? other : character;
  }
  return bytesOf(out);
}

function repeated(text: string, count: bigint, budget: Budget): string {
  if (count < 0n) throw new TemplateError('strings: negative Repeat count');
  const bytes = count * BigInt(text.length);
  budget.make(bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(bytes));
  return text.repeat(Number(count));
}

function indented(width: bigint, text: string, budget: Budget): string {
  const pad = repeated(' ', width, budget);
  const lines = text.split('\n');
  budget.make(text.length + pad.length * lines.length);
  return pad + lines.join(`\n${pad}`);
}

function replaced(text: string, old: string, other: string, budget: Budget): string {
  // With an empty `old`, Go inserts the new text before and after every character.
  const parts = old === '' ? ['', ...[...textOf(text)].map(bytesOf), ''] : text.split(old);
  budget.make(text.length + other.length * parts.length);
  return parts.join(other);
}

/** s[start:end], with sprig's rules for negative and large values. */
function substring(start: bigint, end: bigint, text: string): string {
  const [from, to, length] = [Number(start), Number(end), text.length];
  if (from < 0) return text.slice(0, Math.max(to, 0));
  if (from > length) throw new TemplateError('slice bounds out of range');
  return to < 0 || to > length ? text.slice(from) : text.slice(from, to);
}

function truncated(count: bigint, text: string): string {
  const at = Number(count);
  if (at < 0) return text.length + at > 0 ? text.slice(text.length + at) : text;
  return text.slice(0, at);
}

const bool = (decide: (one: string, other: string) => boolean): ReturnType<typeof fixed> =>
  fixed(['string', 'string'], ([one, other]) => decide(one, other));

export const texts: Functions = {
  print: variadic([], 'any', (_, args, budget) => sprint(args, budget)),
  println: variadic([], 'any', (_, args, budget) => `${args.map((arg) => printed(arg, budget)).join(' ')}\n`),
  printf: variadic(['string'], 'any', ([format], args, budget) => sprintf(format, args, budget)),
  contains: bool((part, text) => text.includes(part)),
  hasPrefix: bool((prefix, text) => text.startsWith(prefix)),
  hasSuffix: bool((suffix, text) => text.endsWith(suffix)),
  trim: fixed(['string'], ([text]) => trimmed(text)),
  trimAll: fixed(['string', 'string'], ([set, text]) => trimmedOf(set, text)),
  trimPrefix: fixed(['string', 'string'], ([prefix, text]) =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text,
  ),
  trimSuffix: fixed(['string', 'string'], ([suffix, text]) =>
    suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  ),
  lower: fixed(['string'], ([text]) => mapped(text, (character) => character.toLowerCase())),
  upper: fixed(['string'], ([text]) => mapped(text, (character) => character.toUpperCase())),
  nospace: fixed(['string'], ([text]) => withoutSpace(text)),
  replace: fixed(['string', 'string', 'string'], ([old, other, text], budget) => replaced(text, old, other, budget)),
  repeat: fixed(['int', 'string'], ([count, text], budget) => repeated(text, count, budget)),
  trunc: fixed(['int', 'string'], ([count, text]) => truncated(count, text)),
  substr: fixed(['int', 'int', 'string'], ([start, end, text]) => substring(start, end, text)),
  indent: fixed(['int', 'string'], ([width, text], budget) => indented(width, text, budget)),
  nindent: fixed(['int', 'string'], ([width, text], budget) => `\n${indented(width, text, budget)}`),
  toString: fixed(['any'], ([value], budget) => printed(value, budget)),
  toStrings: fixed(['any'], ([value], budget) => textList(value, budget)),
  quote: variadic([], 'any', (_, args, budget) =>
    present(args)
      .map((arg) => quoted(printed(arg, budget)))
      .join(' '),
  ),
  squote: variadic([], 'any', (_, args, budget) =>
    present(args)
      .map((arg) => `'${printed(arg, budget)}'`)
      .join(' '),
  ),
  cat: variadic([], 'any', (_, args, budget) =>
    present(args)
      .map((arg) => printed(arg, budget))
      .join(' '),
  ),
  join: fixed(['string', 'any'], ([separator, value], budget) => {
    const parts = textList(value, budget);
    budget.make(parts.reduce((bytes, part) => bytes + part.length + separator.length, 0));
    return parts.join(separator);
  }),
  splitList: fixed(['string', 'string'], ([separator, text]) => splitText(separator, text)),
  split: fixed(
    ['string', 'string'],
    ([separator, text]) => new Map(splitText(separator, text).map((part, i) => [`_${i}`, part])),
  ),
  sortAlpha: fixed(['any'], ([value], budget) =>
    isList(value) ? sortedTexts(textList(value, budget)) : [printed(value, budget)],
  ),
};

/** Removes white space as goutils.DeleteWhiteSpace does, which treats every byte as a character. */
function withoutSpace(text: string): string {
  return bytesOf([...text].filter((character) => !goSpace.test(character)).join(''));
}

function present(args: readonly Value[]): readonly Value[] {
  return args.filter((arg) => arg !== null && arg !== undefined);
}

/** Splits as strings.Split does: an empty separator gives every character. */
function splitText(separator: string, text: string): readonly string[] {
  return separator === '' ? [...textOf(text)].map(bytesOf) : text.split(separator);
}
