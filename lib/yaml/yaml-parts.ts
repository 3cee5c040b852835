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
 * opening brackets and braces, and dashes or question marks before white space. The same holds for places that mark a
 * key, an anchor, an alias or a tag, of which one line may have thousands. Base64 and PEM text only count their line
 * ends.
 */
export function hasTooManyParts(text: string): boolean {
  let entries = 0;
  let marks = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isBeforeSpace = !(text.charCodeAt(i + 1) > blank);
    if (entryStarts.has(code) || ((code === dash || code === question) && isBeforeSpace)) entries++;
    else if (markStarts.has(code) || (code === colon && isBeforeSpace)) marks++;
    if (entries > mostParts || marks > mostParts) return true;
  }
  return false;
}

const codesOf = (characters: string): ReadonlySet<number> => new Set([...characters].map((one) => one.charCodeAt(0)));
/** Characters that begin an entry at any position: line ends, commas, opening brackets and braces. */
const entryStarts = codesOf('\n\r,[{');
/** Anchors, aliases and tags. */
const markStarts = codesOf('&*!');
const blank = 0x20;
const dash = 0x2d;
const question = 0x3f;
const colon = 0x3a;
