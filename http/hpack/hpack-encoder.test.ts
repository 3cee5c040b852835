import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, integer, option, property, record, string, tuple } from 'fast-check';
import { HpackDecoder } from './hpack-decoder.ts';
import { HpackEncoder, promisedLength } from './hpack-encoder.ts';
import { decodeHuffman, encodeHuffman } from './hpack-huffman.ts';

const limits = { bytes: 16 * 1024 * 1024, pairs: 20_000 };

/** A target that grows as Http2Output does. */
function makeTarget(): { bytes: Buffer; length: number; reserve(count: number): void } {
  return {
    bytes: Buffer.alloc(0),
    length: 0,
    reserve(count) {
      if (this.length + count <= this.bytes.length) return;
      this.bytes = Buffer.concat([this.bytes.subarray(0, this.length), Buffer.alloc(count + 64)]);
    },
  };
}

function encode(encoder: HpackEncoder, status: number, headers: readonly string[]): Buffer {
  const target = makeTarget();
  encoder.encode(target, status, headers);
  return target.bytes.subarray(0, target.length);
}

const repeated = ['Content-Type', 'application/json', 'Cache-Control', 'no-cache, private'];

test('what a decoder reads is what was given, in lower case, whatever the answers before were', () => {
  const text = string({ unit: constantFrom('a', 'é', ' ', '~', '0'), maxLength: 40 }).map((s) => s.trim());
  const name = constantFrom('Content-Type', 'Cache-Control', 'Audit-Id', 'Date', 'X-Odd', 'Vary', 'Warning', 'Server');
  const headers = array(tuple(name, text), { maxLength: 12 }).map((pairs) => pairs.flat());
  const limit = option(constantFrom(0, 60, 200, 4096, 100_000), { nil: undefined });
  const answers = array(record({ status: integer({ min: 200, max: 599 }), headers, limit }), {
    maxLength: 20,
  });
  check(
    property(answers, (list) => {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder(limits);
      for (const answer of list) {
        if (answer.limit !== undefined) encoder.setLimit(answer.limit);
        const block = encode(encoder, answer.status, answer.headers);
        const wanted = answer.headers.map((part, i) => (i % 2 === 0 ? part.toLowerCase() : part));
        assert.deepEqual(decoder.decode(block, 0, block.length), [':status', String(answer.status), ...wanted]);
      }
    }),
  );
});

test('what repeats costs one byte the second time; what differs in every answer never enters the table', () => {
  const encoder = new HpackEncoder();
  assert.ok(encode(encoder, 200, repeated).length > 30);
  for (let i = 0; i < 500; i++) encode(encoder, 200, ['Audit-Id', `id-${i}`, 'Content-Length', String(i)]);
  assert.equal(encode(encoder, 200, repeated).length, 3);
});

test('a client that shrinks its table in between is told of the smallest size and of the last', () => {
  const encoder = new HpackEncoder();
  encode(encoder, 200, repeated);
  encoder.setLimit(0);
  encoder.setLimit(4096);
  const block = encode(encoder, 200, repeated);
  assert.deepEqual([...block.subarray(0, 4)], [0x20, 0x3f, 0xe1, 0x1f]);
  const decoder = new HpackDecoder(limits);
  assert.equal(decoder.decode(block, 0, block.length)?.length, 6);
});

test('framing of HTTP/1.1 is dropped, blanks around a value too, a repeated length is sent once', () => {
  const block = encode(new HpackEncoder(), 200, [
    ...['Connection', 'close', 'Transfer-Encoding', 'chunked', 'Keep-Alive', 'x', 'Upgrade', 'h2c'],
    ...['Content-Length', '2', 'content-length', '2', 'X-Padded', ' a b\t'],
  ]);
  const list = new HpackDecoder(limits).decode(block, 0, block.length);
  assert.deepEqual(list, [':status', '200', 'content-length', '2', 'x-padded', 'a b']);
});

test('a value of 100 KB takes less than the 64 KiB nghttp2 reads', () => {
  const value = 'a'.repeat(100_000);
  const block = encode(new HpackEncoder(), 200, ['x-long', value]);
  assert.ok(block.length < 65_536);
  assert.deepEqual(new HpackDecoder(limits).decode(block, 0, block.length), [':status', '200', 'x-long', value]);
});

test('an answer that could be read as another one is refused before anything is sent', () => {
  for (const headers of [
    ['x-bad', 'a\r\nb: c'],
    ['x-bad', 'a\0'],
    ['x bad', 'a'],
    [':status', '200'],
    ['', 'a'],
    ['Content-Length', '1', 'Content-Length', '2'],
    ['Content-Length', '+1'],
    ['x-bad', 'snow \u2603'],
  ]) {
    assert.throws(() => promisedLength(200, headers), { code: 'INTERNAL' }, headers.join());
  }
  assert.equal(promisedLength(200, ['Content-Length', '12']), 12);
  assert.equal(promisedLength(200, repeated), -1);
});

test('the Huffman code of LF, CR and 0x16 is 30 bits long: many of them are coded whole (found by fuzzing)', () => {
  for (const text of ['\n'.repeat(100), '\r\u0016\n'.repeat(50)]) {
    const coded = encodeHuffman(text);
    assert.equal(decodeHuffman(coded, 0, coded.length), text);
  }
});
