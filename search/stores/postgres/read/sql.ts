// Pieces of SQL with their values. The text has a `?` for each value and never contains text of a caller. Values are
// put in when the statement is complete. They are literals and not parameters, because only a text without parameters
// can have several statements, and because COPY takes none.

/** A piece of SQL with its values in order. */
export interface Piece {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Makes a piece from a text and its values. */
export function piece(text: string, ...values: readonly unknown[]): Piece {
  return { text, values };
}

export function join(pieces: readonly Piece[], between: string): Piece {
  return { text: pieces.map(({ text }) => text).join(between), values: pieces.flatMap(({ values }) => values) };
}

/** Joins pieces with a space. */
export function concat(...pieces: readonly Piece[]): Piece {
  return join(pieces, ' ');
}

/** Joins conditions into one that is true when all of them are true. */
export function allHold(pieces: readonly Piece[]): Piece {
  return pieces.length === 0 ? piece('true') : join(pieces, ' AND ');
}

/**
 * Replaces each `?` by its value as a literal. Bytes become hexadecimal digits and all other values are numbers, so no
 * text of a caller can end a literal.
 */
export function withLiterals({ text, values }: Piece): string {
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

/** A number, or the decimal text of one. @throws RangeError for anything else */
function numberText(value: unknown): string {
  const text = String(value);
  if (!/^-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Infinity)$/.test(text)) throw new RangeError('no number for a statement');
  return text;
}

/** A condition that a column has one of these values. */
export function isOneOf(column: string, type: 'int2' | 'int4' | 'bytea', values: readonly unknown[]): Piece {
  // Only for a comparison with one value can an index give the rows in order.
  if (values.length === 1) return piece(`${column} = ?::${type}`, values[0]);
  return piece(`${column} = ANY(?::${type}[])`, values);
}

/** Texts of clusters are stored as UTF-8 bytes: their order is the order of code points, and a NUL is allowed. */
export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function bytesOf(texts: Iterable<string>): readonly Buffer[] {
  return Array.from(texts, bytes);
}

/** A number to compare with a column of integers. */
export function numberPiece(value: number): Piece {
  return piece(Number.isSafeInteger(value) ? '?::int8' : '?::float8', String(value));
}

/**
 * Texts to compare with a column for equality. Texts that are not valid UTF-16 are left out, because no row contains
 * them.
 */
export function wholeTexts(texts: readonly string[]): readonly Buffer[] {
  return bytesOf(texts.filter((text) => text.isWellFormed()));
}
