// Pieces of SQL with their values. The text has a `?` for each value and never contains text of a caller. PostgreSQL's
// numbered parameters are put in when the statement is complete.

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

/** Replaces each `?` by `$1`, `$2` and so on. */
export function numbered(text: string): string {
  let number = 0;
  return text.replaceAll('?', () => `$${++number}`);
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
