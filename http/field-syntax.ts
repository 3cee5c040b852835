// The syntax of HTTP field names and of the blanks around values (RFC 9110 section 5). Blanks are space and tab alone;
// String.trim() and \s take more.
import { isOws } from '../lib/text/text-ends.ts';

/** A token: a method, a field name. */
export const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The text between two offsets without leading and trailing blanks (OWS). */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isOws(text.charCodeAt(start))) start++;
  while (end > start && isOws(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
