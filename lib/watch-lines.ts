// Splits the bytes of a watch into lines; each line is one event. Easy to get wrong: a chunk may end anywhere, also
// inside a character, and an object of 1.5 MB arrives in dozens of chunks. Joining all chunks of a line again after
// every chunk would take quadratic time.

import { MalformedAnswer } from './json/json-scan.ts';

/**
 * Longest line in bytes; a longer one ends the watch with an error. etcd accepts objects up to about 1.5 MB; as JSON
 * with base64 and escapes they stay below this limit.
 */
export const maxWatchLineBytes = 32 * 1024 * 1024;

/**
 * Yields each non-empty line without its newline. A line may share its memory with a chunk.
 * @throws MalformedAnswer when a line is too long, or the input ends inside a line
 */
export async function* byteLinesOf(
  chunks: AsyncIterable<Buffer>,
  maxLineBytes: number = maxWatchLineBytes,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline, start); end !== -1; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [];
      bytes = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > maxLineBytes) throw new MalformedAnswer(`an event is longer than ${maxLineBytes} bytes`);
  }
  if (bytes > 0) throw new MalformedAnswer('the watch ended in the middle of an event');
}

const newline = 0x0a;
