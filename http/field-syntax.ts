// The syntax of HTTP field names and of the blanks around values (RFC 9110 section 5). Blanks are space and tab alone;
// String.trim() and \s take more.
import { isOws } from '../lib/text/text-ends.ts';

/** A token: a method, a field name. */
export const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A field name as HTTP/2 wants it. */
export const lowerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** A character no field value may hold: none of tab, blank, visible ASCII, upper half of latin1. */
export const badValue = /[^\t\x20-\x7e\x80-\xff]/;

/** Fields that belong to one connection, in lower case: their writer is the framing, never a caller. */
export const connectionField = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|trailer)$/;

/** The text between two offsets without leading and trailing blanks (OWS). */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isOws(text.charCodeAt(start))) start++;
  while (end > start && isOws(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
