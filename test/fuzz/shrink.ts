// Makes a connection that two parsers read in two ways as short as it goes. What is left must still show a difference,
// not the same one word for word, or nothing could be taken away.

/**
 * Takes pieces away, half of it first, then less.
 * @param what the difference of the whole
 * @param look what is different about a shorter one, or undefined
 */
export async function smaller(
  bytes: Buffer,
  what: string,
  look: (shorter: Buffer) => Promise<string | undefined>,
): Promise<{ readonly bytes: Buffer; readonly what: string }> {
  let best = { bytes, what };
  for (let size = Math.ceil(bytes.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.bytes.length;) {
      const shorter = Buffer.concat([best.bytes.subarray(0, at), best.bytes.subarray(at + size)]);
      const found = await look(shorter);
      if (found === undefined) at += size;
      else best = { bytes: shorter, what: found };
    }
  }
  return best;
}
