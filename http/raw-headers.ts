// The form in which headers are passed around in the whole program, and how a value is read from it (rule "Raw headers
// only" in docs/rules.md).

/**
 * Flat list `[name, value, name, value, …]`; a value has one latin1 character for each byte received. An object would
 * join repeated headers, and a joined `Impersonate-Group` would be another identity.
 */
export type RawHeaders = readonly string[];

/**
 * All values of one header in order, not decoded.
 * @param lowerName the header name in lower case
 */
export function headerValues(headers: RawHeaders, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(headers[i + 1]!);
  }
  return values;
}
