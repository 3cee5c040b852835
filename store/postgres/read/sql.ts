// Fragments of SQL for PostgreSQL. Their values replace the `?` when the statement is complete. They become literals
// and not parameters, because a text with several statements can have no parameters, and neither can COPY.
import { allHold, join, type SqlFragment } from '../../sql/sql-fragment.ts';

export { allHold, join, type SqlFragment };

/** Makes a fragment from a text and its values. */
export function fragment(text: string, ...values: readonly unknown[]): SqlFragment {
  return { text, values };
}

/** Joins fragments with a space. */
export function concat(...fragments: readonly SqlFragment[]): SqlFragment {
  return join(fragments, ' ');
}

/**
 * Replaces each `?` by its value as a literal. Bytes become hexadecimal digits, and all other values are numbers. So no
 * text of a caller can end a literal early.
 */
export function withLiterals({ text, values }: SqlFragment): string {
  let at = 0;
  return text.replaceAll('?', () => literal(values[at++]));
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `E'{${value.map((each) => element(each)).join()}}'`;
  return Buffer.isBuffer(value) ? `E'\\\\x${value.toString('hex')}'` : `'${numberText(value)}'`;
}

function element(value: unknown): string {
  return Buffer.isBuffer(value) ? `"\\\\\\\\x${value.toString('hex')}"` : numberText(value);
}

/**
 * The decimal text of a number, or of a text that is a number.
 * @throws RangeError for anything else
 */
function numberText(value: unknown): string {
  const text = String(value);
  if (!/^-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Infinity)$/.test(text)) throw new RangeError('no number for a statement');
  return text;
}

/** A condition that a column has one of some values. */
export function isOneOf(column: string, type: 'int2' | 'int4' | 'bytea', values: readonly unknown[]): SqlFragment {
  // A database index gives rows in order only for a comparison with one value.
  if (values.length === 1) return fragment(`${column} = ?::${type}`, values[0]);
  return fragment(`${column} = ANY(?::${type}[])`, values);
}

/**
 * Texts of clusters are stored as UTF-8 bytes. They then sort by code points, and may contain NUL, which PostgreSQL's
 * type text refuses.
 */
export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function bytesOf(texts: Iterable<string>): readonly Buffer[] {
  return Array.from(texts, bytes);
}

/** A number as SQL, for a comparison with a column of integers. */
export function numberFragment(value: number): SqlFragment {
  return fragment(Number.isSafeInteger(value) ? '?::int8' : '?::float8', String(value));
}

/**
 * Texts to compare with a column for equality. Texts that are not valid UTF-16 are left out: no row has them, but as
 * UTF-8 they could equal the text of a row (U+FFFD).
 */
export function wholeTexts(texts: readonly string[]): readonly Buffer[] {
  return bytesOf(texts.filter((text) => text.isWellFormed()));
}
