// Estimates how many entries a YAML text has, before it is parsed. Easy to get wrong: limiting the length is not
// enough. The parser compares each key of a mapping with all keys before it, so 200 KiB of short keys block the process
// for minutes, but a certificate of that length takes no time.

/**
 * An untrusted YAML document may have at most this many entries in all its lists and mappings together; one with more
 * is refused unread. No kubeconfig has as many, and parsing them takes at most a tenth of a second.
 */
export const mostParts = 4_000;

/**
 * Whether an untrusted YAML text has more than {@link mostParts} places where an entry can begin: line ends, commas,
 * opening brackets and braces, and dashes or question marks before white space. Base64 and PEM text in quotes only
 * count their line ends.
 */
export function hasTooManyParts(text: string): boolean {
  let parts = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === newline || code === carriageReturn || code === comma || code === brace || code === bracket) parts++;
    else if ((code === dash || code === question) && text.charCodeAt(i + 1) <= blank) parts++;
    if (parts > mostParts) return true;
  }
  return false;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const comma = 0x2c;
const dash = 0x2d;
const question = 0x3f;
const bracket = 0x5b;
const brace = 0x7b;
