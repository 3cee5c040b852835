// Reads raw header arrays, as every identity header must be read. Node's `headers` object joins and drops repeated
// headers, so it is never used here.

/** A raw header array without HTTP/2 pseudo headers. */
export function plainHeaders(raw: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (!name.startsWith(':')) out.push(name, raw[i + 1] ?? '');
  }
  return out;
}

/** All values of a header, in order; the name in any case. */
export function headerValues(raw: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) if ((raw[i] ?? '').toLowerCase() === wanted) out.push(raw[i + 1] ?? '');
  return out;
}

/** First value of a header, or undefined. */
export function headerValue(raw: readonly string[], name: string): string | undefined {
  return headerValues(raw, name)[0];
}

/** Header bytes arrive as latin1; Go reads them as UTF-8. */
export function utf8(value: string): string {
  // oxlint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8');
}
