// Remembers what was read from a header list that a connection sends again and again: clients repeat all their headers
// with every request, and only the request line differs. Only readings that follow from the list alone may be
// remembered here; whether a token is still good, or what its user may do, is looked up for each request.

/** Readings of one list, by the function that made them. */
type Readings = Map<(headers: readonly string[]) => unknown, unknown>;

/**
 * The list carries its readings itself: they go when it goes, and a list that came only once costs a single look. (A
 * WeakMap costs a hash for each look and work in each garbage collection, measured.)
 */
const readings = Symbol('readings');
type RepeatedList = readonly string[] & { readonly [readings]?: Readings };

/** Says that this very list object will be read again, and must never be changed from here on. */
export function markRepeated(headers: readonly string[]): void {
  if (isRepeated(headers)) return;
  // Not enumerable: the list stays equal to any other with the same words.
  Object.defineProperty(headers, readings, { value: new Map() });
}

/** Whether {@link markRepeated} was called with it. */
export function isRepeated(headers: readonly string[]): boolean {
  return (headers as RepeatedList)[readings] !== undefined;
}

/**
 * A reading of a header list that is made once for a list that repeats.
 * @param read pure: the same list gives the same answer for ever; never gives undefined. What it throws is thrown anew
 *   each time.
 */
export function readOnce<T extends {} | null>(read: (headers: readonly string[]) => T): typeof read {
  return (headers) => {
    const known = (headers as RepeatedList)[readings];
    if (known === undefined) return read(headers);
    const found = known.get(read);
    if (found !== undefined) return found as T;
    const made = read(headers);
    known.set(read, made);
    return made;
  };
}
