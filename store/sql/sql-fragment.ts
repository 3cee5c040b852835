// Fragments of SQL with their values. The text has a `?` for each value, and never contains text of a caller.

/** A part of an SQL statement, with the values for its `?` in order. */
export interface SqlFragment<Value = unknown> {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Joins fragments, with a text between them. */
export function join<Value>(fragments: readonly SqlFragment<Value>[], between: string): SqlFragment<Value> {
  return { text: fragments.map(({ text }) => text).join(between), values: fragments.flatMap(({ values }) => values) };
}

/** Joins conditions into one that is true when all of them are true. */
export function allHold<Value>(conditions: readonly SqlFragment<Value>[]): SqlFragment<Value> {
  return conditions.length === 0 ? { text: '1 = 1', values: [] } : join(conditions, ' AND ');
}

/** Joins conditions, one at least, into one that is true when any of them is true. */
export function anyHolds<Value>(conditions: readonly SqlFragment<Value>[]): SqlFragment<Value> {
  const { text, values } = join(conditions, ' OR ');
  return { text: `(${text})`, values };
}
