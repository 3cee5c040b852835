// The syntax of HTTP field names, and of white space around field values (RFC 9110 section 5). HTTP counts only space
// and tab as white space, while String.trim() and \s match more characters.
import { isOws } from '../lib/text/text-ends.ts';

/** A token of RFC 9110: a method or a field name. */
export const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A field name in HTTP/2, where upper case is not allowed. */
export const lowerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** A character that no field value may hold: anything but tab, space, visible ASCII and bytes above 0x7f. */
export const badValue = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Fields that describe one connection (hop-by-hop), in lower case. Only the HTTP framing code writes them; a value from
 * a caller is dropped.
 */
export const connectionField = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|trailer)$/;

/** The text between two offsets without leading and trailing spaces and tabs. */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isOws(text.charCodeAt(start))) start++;
  while (end > start && isOws(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
