// Finds that a header list came before on the same connection, so that what was read from it need not be read again
// (http/repeated-headers.ts). Lists are equal only when every name and value is, in order: a front proxy sends those of
// many callers on one connection.
import { markRepeated } from '../repeated-headers.ts';
import type { RawHeaders } from '../raw-headers.ts';

/** Lists that are kept; a front proxy's connection carries a few callers at a time. */
const keptLists = 8;
/**
 * Longer ones are not kept: an idle connection would hold them. Names and values, and the characters of all of them.
 */
const keptLength = 128;
const keptCharacters = 16 * 1024;

/**
 * The lists of one connection. Without them the head for a member (1 us) and every other reading would be made anew.
 */
export class RepeatedLists {
  /** The latest first. */
  readonly #kept: RawHeaders[] = [];

  /**
   * The list that was kept when it came before, marked as repeated; else the very same list, which is kept from now on.
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

/** HPACK gives the same string objects for what stands in its table, so most comparisons are of addresses. */
function areEqual(one: RawHeaders, other: RawHeaders): boolean {
  if (one.length !== other.length) return false;
  for (let i = one.length - 1; i >= 0; i--) if (one[i] !== other[i]) return false;
  return true;
}
