// Decodes header values: they have one latin1 character for each byte, but identities are UTF-8.

const plain = /^[\t\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes a header value as UTF-8; undefined when its bytes are not valid UTF-8. */
export function decodeHeaderText(latin1: string): string | undefined {
  if (plain.test(latin1)) return latin1;
  try {
    return utf8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * Decodes the extra key at the end of a header name, as Go's url.PathUnescape does. A key with an invalid escape is
 * returned unchanged, as kube-apiserver does. Undefined when it is not UTF-8.
 * @param escaped the key in lower case, since header names are case-insensitive
 */
export function unescapeHeaderKey(escaped: string): string | undefined {
  if (!escaped.includes('%') || /%(?![0-9a-f]{2})/.test(escaped)) return decodeHeaderText(escaped);
  const bytes = escaped.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decodeHeaderText(bytes);
}
