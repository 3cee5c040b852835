// Reads headers from Node's raw header arrays. Node's `headers` object must not be used: it joins or drops repeated
// headers, which would change the groups of an impersonated user.

/** A raw header array, names and values in turn, without HTTP/2 pseudo headers. */
export function plainHeaders(raw: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (!name.startsWith(':')) out.push(name, raw[i + 1] ?? '');
  }
  return out;
}

/** All values of a header, in order. The case of the name does not matter. */
export function headerValues(raw: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) if ((raw[i] ?? '').toLowerCase() === wanted) out.push(raw[i + 1] ?? '');
  return out;
}

/** The first value of a header; undefined when it is absent. */
export function headerValue(raw: readonly string[], name: string): string | undefined {
  return headerValues(raw, name)[0];
}

/** Decodes a header value as UTF-8, as Go does. Node decodes headers as latin1. */
export function utf8(value: string): string {
  // oxlint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8');
}
