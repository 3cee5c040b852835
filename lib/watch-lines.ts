// Cuts the bytes of a watch into lines, one event each. Easy to get wrong: chunk borders fall anywhere, also inside a
// character, and an object of 1.5 MB comes in dozens of chunks; joining them again with every chunk would cost the
// square of its size.

import { MalformedAnswer } from './json/malformed-json.ts';

/**
 * No object of etcd is longer than about 1.5 MB (its request limit); its JSON with base64 and escapes stays below this.
 */
export const maxWatchLineBytes = 32 * 1024 * 1024;

/**
 * Yields whole lines as text without their newline, empty ones left out.
 * @throws MalformedAnswer as {@link byteLinesOf}
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, maxLineBytes?: number): AsyncGenerator<string> {
  for await (const line of byteLinesOf(chunks, maxLineBytes)) yield line.toString('utf8');
}

/**
 * Yields whole lines without their newline, empty ones left out; a line may share its memory with the chunk it came in.
 * @throws MalformedAnswer when a line is longer than the limit or the bytes end inside one
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
