// Reads header values from flat raw arrays (rule "raw headers only"). Node hands values over as latin1, one character
// for each byte, while identities are UTF-8.

const plain = /^[\t\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Every value of one header, in order, still latin1. `lowerName` is compared without regard to case. */
export function headerValues(rawHeaders: readonly string[], lowerName: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** The text whose UTF-8 bytes the latin1 string holds; undefined when they are no valid UTF-8. */
export function decodeHeaderText(latin1: string): string | undefined {
  if (plain.test(latin1)) return latin1;
  try {
    return utf8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * The extra key at the end of a header's name, unescaped as Go's url.PathUnescape does. A text with a bad escape is
 * kept as it is, as kube-apiserver does. Undefined: not UTF-8.
 * @param escaped in lower case already, since header names have no case
 */
export function unescapeHeaderKey(escaped: string): string | undefined {
  if (!escaped.includes('%') || /%(?![0-9a-f]{2})/.test(escaped)) return decodeHeaderText(escaped);
  const bytes = escaped.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decodeHeaderText(bytes);
}
