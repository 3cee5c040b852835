// Pieces of SQL with their values. The text has a `?` for each value, and never contains text of a caller.

/** A part of an SQL statement, with the values for its `?` in order. */
export interface Piece<Value = unknown> {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Joins pieces, with a text between them. */
export function join<Value>(pieces: readonly Piece<Value>[], between: string): Piece<Value> {
  return { text: pieces.map(({ text }) => text).join(between), values: pieces.flatMap(({ values }) => values) };
}

/** Joins conditions, one at least, into one that is true when any of them is true. */
export function anyHolds<Value>(conditions: readonly Piece<Value>[]): Piece<Value> {
  const { text, values } = join(conditions, ' OR ');
  return { text: `(${text})`, values };
}
