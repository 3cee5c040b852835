// How many parts a YAML text can have, known before it is parsed. Easy to get wrong: the length says nothing of the
// work; the parser compares every key of a map with all before it, so 200 KiB of keys keep the process busy for
// minutes, and a certificate of that length for no time at all.

/** More than any kubeconfig or rule list of one cluster has, and a tenth of a second of work at most. */
export const mostParts = 4_000;

/**
 * Whether a YAML text that somebody else wrote has more than {@link mostParts} places where an entry can begin: lines,
 * commas, openings of collections, and dashes and question marks with a blank behind them. Base64 and PEM lines in
 * quotes have none but their line ends.
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
