// Caches results computed from a header list that a connection sends repeatedly. Most clients send the same headers
// with every request. Only results that depend on the list alone may be cached here. Whether a token is still valid, or
// what its user may do, must be checked for each request.

/** The cached results of one list, by the function that computed them. */
type Readings = Map<(headers: readonly string[]) => unknown, unknown>;

/**
 * The property of a header list in which its cached results are stored, so that both are freed together, and a list
 * that is received only once costs a single property access. A WeakMap was measured to be slower, because of hashing
 * and garbage collection.
 */
const readings = Symbol('readings');
type RepeatedList = readonly string[] & { readonly [readings]?: Readings };

/**
 * Marks a list that will be read again, so that results are cached for it. The list must never be changed afterwards.
 */
export function markRepeated(headers: readonly string[]): void {
  if (isRepeated(headers)) return;
  // Not enumerable, so that the list still compares as equal to a list without the property.
  Object.defineProperty(headers, readings, { value: new Map() });
}

/** Whether {@link markRepeated} was called for this list. */
export function isRepeated(headers: readonly string[]): boolean {
  return (headers as RepeatedList)[readings] !== undefined;
}

/**
 * Wraps a function of a header list so that its result is cached for lists marked with {@link markRepeated}.
 * @param read must depend on the list alone and never return undefined; an error that it throws is not cached
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
