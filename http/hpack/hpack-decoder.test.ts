import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as check, property, uint8Array } from 'fast-check';
import { HpackDecoder, HpackFault } from './hpack-decoder.ts';
import { ConnectionFault } from '../http2-faults.ts';
import { decodeHuffman, encodeHuffman } from './hpack-huffman.ts';

const limits = { bytes: 1024 * 1024, pairs: 20_000 };

function decode(decoder: HpackDecoder, hex: string): string[] | undefined {
  const bytes = Buffer.from(hex.replaceAll(/\s/g, ''), 'hex');
  return decoder.decode(bytes, 0, bytes.length);
}

const date1 = 'Mon, 21 Oct 2013 20:13:21 GMT';
const date2 = 'Mon, 21 Oct 2013 20:13:22 GMT';
const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
const first = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'];
const requests = [
  first,
  [...first, 'cache-control', 'no-cache'],
  [
    ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
    ...['custom-key', 'custom-value'],
  ],
];
const location = 'https://www.example.com';
const responses = [
  [':status', '302', 'cache-control', 'private', 'date', date1, 'location', location],
  [':status', '307', 'cache-control', 'private', 'date', date1, 'location', location],
  [
    ...[':status', '200', 'cache-control', 'private', 'date', date2, 'location', location],
    ...['content-encoding', 'gzip', 'set-cookie', cookie],
  ],
];

test('the single fields of RFC 7541 appendix C.2', () => {
  for (const [hex, list] of [
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key', 'custom-header']],
    ['040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
    ['1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
    ['82', [':method', 'GET']],
  ] as const) {
    assert.deepEqual(decode(new HpackDecoder(limits), hex), list);
  }
});

test('the requests of appendix C.3, plain, and C.4, with Huffman code', () => {
  for (const blocks of [
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ]) {
    const decoder = new HpackDecoder(limits);
    for (const [i, hex] of blocks.entries()) assert.deepEqual(decode(decoder, hex), requests[i]);
  }
});

test('the answers of appendix C.5, plain, and C.6, with Huffman code, in a table of 256 bytes that evicts', () => {
  for (const blocks of [
    [
      `3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120
       474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      '4803 3330 37c1 c0bf',
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
       6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
       2076 6572 7369 6f6e 3d31`,
    ],
    [
      `3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718
       63c7 8f0b 97c8 e9ae 82ae 43d3`,
      '4883 640e ffc1 c0bf',
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
       dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
    ],
  ]) {
    const decoder = new HpackDecoder(limits);
    for (const [i, hex] of blocks.entries()) assert.deepEqual(decode(decoder, hex), responses[i]);
  }
});

for (const [name, hex] of Object.entries({
  'index 0': '80',
  'an index beyond the tables': 'be',
  'an index beyond the tables as a name': '7f10 0161',
  'a size update above 4096': '3fe2 1f',
  'a size update behind a field': '8220',
  'a string that is cut': '000a 6162',
  'a string that is missing': '0001 61',
  'an integer without end': '3fff ffff ffff ff',
  'an integer of 35 bits': 'ffff ffff ff7f',
  'a cut integer': '3f',
  'padding of more than seven bits': '0001 6181 ff',
  'padding with a zero': '0001 6181 18',
  'EOS in a string': '0001 6184 ffff ffff',
})) {
  test(`${name} is a fault of the connection`, () => {
    assert.throws(() => decode(new HpackDecoder(limits), hex), HpackFault);
  });
}

test('an entry larger than the table empties it and is read all the same', () => {
  const decoder = new HpackDecoder(limits);
  decode(decoder, '4001 6101 62');
  assert.deepEqual(decode(decoder, 'be'), ['a', 'b']);
  const large = Buffer.concat([Buffer.from('40016a7f a11f'.replaceAll(' ', ''), 'hex'), Buffer.alloc(4128, 'x')]);
  assert.deepEqual(decoder.decode(large, 0, large.length), ['j', 'x'.repeat(4128)]);
  assert.throws(() => decode(decoder, 'be'), HpackFault);
});

test('a bomb, one long entry named again and again, is over the limits, makes nothing, and leaves the table right', () => {
  const decoder = new HpackDecoder(limits);
  const value = 'v'.repeat(3000);
  const add = Buffer.concat([Buffer.from('40016a7fb916', 'hex'), Buffer.from(value)]);
  assert.deepEqual(decoder.decode(add, 0, add.length), ['j', value]);
  const bomb = Buffer.concat([Buffer.alloc(16_000, 0xbe), Buffer.from('4001 6b01 63'.replaceAll(' ', ''), 'hex')]);
  assert.equal(decoder.decode(bomb, 0, bomb.length), undefined);
  assert.deepEqual(decode(decoder, 'bebf'), ['k', 'c', 'j', value]);
});

test('more than 20,000 fields are over the limits', () => {
  const decoder = new HpackDecoder(limits);
  const many = Buffer.alloc(20_000, 0x82);
  assert.equal(decoder.decode(many, 0, many.length)?.length, 40_000);
  const more = Buffer.alloc(20_001, 0x82);
  assert.equal(decoder.decode(more, 0, more.length), undefined);
});

test('a block that goes on far beyond the limits is not read to its end, one that is a little over is (ATT-49)', () => {
  const full = Buffer.alloc(20_000, 0x82);
  const add = Buffer.from('40016100', 'hex');
  const read = (...more: Buffer[]) => {
    const block = Buffer.concat([full, ...more]);
    return new HpackDecoder(limits).decode(block, 0, block.length);
  };
  assert.equal(read(Buffer.alloc(20_000, 0x82)), undefined);
  assert.throws(() => read(Buffer.alloc(20_001, 0x82)), ConnectionFault);
  assert.equal(read(...Array.from({ length: 1_250 }, () => add)), undefined);
  assert.throws(() => read(...Array.from({ length: 1_251 }, () => add)), ConnectionFault);
  // What stands behind is not even looked at: it would be a fault of another kind.
  assert.throws(() => read(...Array.from({ length: 1_251 }, () => add), Buffer.from([0xff])), ConnectionFault);
});

test('every string survives its Huffman code, and no other byte sequence of padding does', () => {
  check(
    property(uint8Array({ maxLength: 300 }), (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      const coded = encodeHuffman(text);
      assert.equal(decodeHuffman(coded, 0, coded.length), text);
      const padded = Buffer.concat([coded, Buffer.from([0xff])]);
      assert.equal(decodeHuffman(padded, 0, padded.length), undefined);
    }),
  );
});

test('any bytes are either read or refused with a fault', () => {
  check(
    property(uint8Array({ maxLength: 200 }), (bytes) => {
      const decoder = new HpackDecoder(limits);
      try {
        decoder.decode(Buffer.from(bytes), 0, bytes.length);
      } catch (error) {
        assert.ok(error instanceof HpackFault, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});
