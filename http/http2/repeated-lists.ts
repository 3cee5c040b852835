// Recognises header lists that were received before on the same connection, so that results computed from them can be
// reused (http/repeated-headers.ts). Two lists are equal only when all names and values are, in the same order: a front
// proxy sends requests of many users on one connection.
import { markRepeated } from '../repeated-headers.ts';
import type { RawHeaders } from '../raw-headers.ts';

/** How many lists a connection keeps; a front proxy's connection carries the requests of a few users at a time. */
const keptLists = 8;
/**
 * Lists with more names and values than `keptLength`, or with more characters than `keptCharacters`, are not kept,
 * because an idle connection would hold them in memory.
 */
const keptLength = 128;
const keptCharacters = 16 * 1024;

/**
 * The header lists of one connection. Reusing a list saves, among other work, building the request head for the member
 * (1 microsecond).
 */
export class RepeatedLists {
  /** The header lists of this connection, most recently used first. */
  readonly #kept: RawHeaders[] = [];

  /**
   * Returns an equal list that was received before, marked with {@link markRepeated}. Without one it returns `headers`
   * and keeps that list, unless it is too long.
   */
  settle(headers: RawHeaders): RawHeaders {
    const kept = this.#kept;
    for (let i = 0; i < kept.length; i++) {
      const one = kept[i]!;
      if (!areEqual(one, headers)) continue;
      if (i > 0) {
        kept.splice(i, 1);
        kept.unshift(one);
      }
      markRepeated(one);
      return one;
    }
    if (headers.length > keptLength || isLong(headers)) return headers;
    kept.unshift(headers);
    if (kept.length > keptLists) kept.pop();
    return headers;
  }
}

function isLong(headers: RawHeaders): boolean {
  let characters = 0;
  for (let i = 0; i < headers.length; i++) characters += headers[i]!.length;
  return characters > keptCharacters;
}

/** HPACK returns the same string objects for entries of its table, so most comparisons only compare pointers. */
function areEqual(one: RawHeaders, other: RawHeaders): boolean {
  if (one.length !== other.length) return false;
  for (let i = one.length - 1; i >= 0; i--) if (one[i] !== other[i]) return false;
  return true;
}
