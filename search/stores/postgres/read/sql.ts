// Pieces of statements with their values. A text holds `?` for each value and nothing that a caller has written; the
// numbers that PostgreSQL wants are put in when the whole statement is known.

/** A piece of a statement with its values in order. */
export interface Piece {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A piece of a text and its values. */
export function piece(text: string, ...values: readonly unknown[]): Piece {
  return { text, values };
}

export function join(pieces: readonly Piece[], between: string): Piece {
  return { text: pieces.map(({ text }) => text).join(between), values: pieces.flatMap(({ values }) => values) };
}

/** Pieces one behind the other. */
export function concat(...pieces: readonly Piece[]): Piece {
  return join(pieces, ' ');
}

/** All of them as one condition. */
export function allHold(pieces: readonly Piece[]): Piece {
  return pieces.length === 0 ? piece('true') : join(pieces, ' AND ');
}

/** The text with `$1`, `$2`, … */
export function numbered(text: string): string {
  let number = 0;
  return text.replaceAll('?', () => `$${++number}`);
}

/** As texts of members are stored: the order of bytes is that of code points, and NUL is a byte as any other. */
export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function bytesOf(texts: Iterable<string>): readonly Buffer[] {
  return Array.from(texts, bytes);
}

/** A number to compare with a column of whole numbers. */
export function numberPiece(value: number): Piece {
  return piece(Number.isSafeInteger(value) ? '?::int8' : '?::float8', String(value));
}

/** Texts to compare with whole columns; half a surrogate pair is in none. */
export function wholeTexts(texts: readonly string[]): readonly Buffer[] {
  return bytesOf(texts.filter((text) => text.isWellFormed()));
}
