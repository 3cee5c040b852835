// Decodes text files, in the encodings that YAML allows.

/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark, as PowerShell and some editors write it. The mark
 * is no part of the text.
 * @returns undefined for bytes that are neither
 */
export function unicodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding =
    (first === 0xff && second === 0xfe && 'utf-16le') || (first === 0xfe && second === 0xff && 'utf-16be') || 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
