import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteLinesOf } from './watch-lines.ts';

async function* chunked(text: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < text.length; start += size) yield text.subarray(start, start + size);
}

async function all(chunks: AsyncIterable<Buffer>, limit?: number): Promise<readonly string[]> {
  return (await Array.fromAsync(byteLinesOf(chunks, limit))).map(String);
}

test('lines come out whole wherever the chunks were cut, also inside a character', async () => {
  const text = Buffer.from('{"a":"ü"}\n\n{"b":"€𝄞"}\n');
  for (let size = 1; size <= text.length; size += 1) {
    assert.deepEqual(await all(chunked(text, size)), ['{"a":"ü"}', '{"b":"€𝄞"}']);
  }
});

test('an object of 3 MB in small chunks is one line, and one without end is given up', async () => {
  const text = Buffer.from(`${'x'.repeat(3_000_000)}\nnext\n`);
  const lines = await all(chunked(text, 1000));
  assert.deepEqual([lines[0]?.length, lines[1]], [3_000_000, 'next']);
  await assert.rejects(all(chunked(text, 1000), 1_000_000), /longer than 1000000 bytes/);
});

test('bytes that end inside a line are a fault', async () => {
  await assert.rejects(all(chunked(Buffer.from('{}\n{"a"'), 3)), /in the middle of an event/);
});
