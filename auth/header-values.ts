// Reads header values from flat raw arrays. Easy to get wrong: Node hands values over as latin1, one character for each byte, while
// identities are UTF-8; and `headers` objects join or drop repeats (DESIGN rule 3).

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
