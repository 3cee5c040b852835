// The letters of HTTP field names and the blanks around values (RFC 9110 section 5), for whoever reads or writes
// HTTP/1.1. Easy to get wrong: blanks are space and tab alone; String.trim() and \s take more.
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
