import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import zlib from 'node:zlib';
import { createSpdyFrameReader, encodeSpdyFrame, type SpdyFrame } from './spdy-frames.ts';
import { createHeaderCompressor, createHeaderDecompressor, spdyDictionary, type SpdyHeaders } from './spdy-headers.ts';

/** What moby/spdystream 0.5.1's Framer writes for the frames of `expected` below. */
const written = Buffer.from(
  '80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff' +
    '800300010100001700000003000000000000c22e555c92929907000000ffff' +
    '800300020000001700000001824ab156e89694e7834b52862400000000ffff' +
    '0000000301000002686980030006000000040000000780030003000000080000000300000005' +
    '80030009000000080000000300001000800300040000000c00000001000000070001000080030007000000080000000300000000',
  'hex',
);

const plainFrames: readonly SpdyFrame[] = [
  { type: 'data', streamId: 3, fin: true, data: Buffer.from('hi') },
  { type: 'ping', id: 7 },
  { type: 'rstStream', streamId: 3, status: 5 },
  { type: 'goAway', lastStreamId: 3, status: 0 },
];

function headersOf(frames: readonly SpdyFrame[]): SpdyHeaders[] {
  const decompress = createHeaderDecompressor();
  return frames.flatMap((frame) => ('block' in frame ? [decompress(frame.block)] : []));
}

describe('SPDY frames', () => {
  it("reads what Go's peer writes, in chunks of any size", () => {
    for (const size of [1, 7, written.length]) {
      const read = createSpdyFrameReader();
      const frames: SpdyFrame[] = [];
      for (let i = 0; i < written.length; i += size) frames.push(...read(written.subarray(i, i + size)));
      assert.deepEqual(
        frames.slice(0, 3).map((frame) => ('fin' in frame ? [frame.type, frame.streamId, frame.fin] : [])),
        [
          ['synStream', 1, false],
          ['synStream', 3, true],
          ['synReply', 1, false],
        ],
      );
      assert.deepEqual(headersOf(frames), [
        new Map([['streamtype', ['error']]]),
        new Map([['streamtype', ['stdin']]]),
        new Map([['x-two', ['a', 'b']]]),
      ]);
      assert.deepEqual(frames.slice(3), plainFrames);
    }
  });

  it("writes the same bytes as Go's peer for frames without headers", () => {
    for (const frame of plainFrames) assert.ok(written.includes(encodeSpdyFrame(frame)), frame.type);
  });

  it('skips unknown control frames and refuses other versions, stream 0 and huge frames', () => {
    const unknown = Buffer.from('8003000a00000002ffff', 'hex');
    const ping = encodeSpdyFrame({ type: 'ping', id: 1 });
    assert.deepEqual(createSpdyFrameReader()(Buffer.concat([unknown, ping])), [{ type: 'ping', id: 1 }]);
    assert.throws(() => createSpdyFrameReader()(Buffer.from('8002000600000004', 'hex').fill(0, 4)), /version 2/);
    assert.throws(() => createSpdyFrameReader()(Buffer.from('0000000000000000', 'hex')), /stream 0/);
    assert.throws(() => createSpdyFrameReader(1000)(Buffer.from('00000001000003e9', 'hex')), /1001 bytes/);
    assert.throws(() => createSpdyFrameReader()(Buffer.from('800300030000000400000001', 'hex')), /ends early/);
  });
});

describe('SPDY header blocks', () => {
  it('start from the dictionary of the specification', () => {
    const dictionary = spdyDictionary();
    assert.equal(dictionary.length, 1423);
    assert.equal(zlib.deflateSync('x', { dictionary }).readUInt32BE(2), 0xe3c6a7c2);
  });

  it('survive a round trip over many blocks, each smaller for what came before', () => {
    const compress = createHeaderCompressor();
    const decompress = createHeaderDecompressor();
    const sizes: number[] = [];
    for (let i = 0; i < 150; i++) {
      const headers = new Map([
        ['streamtype', ['data']],
        ['port', ['8080']],
        ['requestid', [String(i), 'x'.repeat(i % 50)]],
      ]);
      const block = compress(headers);
      sizes.push(block.length);
      assert.deepEqual(decompress(block), headers);
    }
    assert.ok((sizes[1] ?? 0) < (sizes[0] ?? 0) / 2, `${sizes.slice(0, 3).join(', ')}`);
  });

  it('are one zlib stream that an ordinary inflater reads', () => {
    const compress = createHeaderCompressor();
    const blocks = [compress(new Map([['a', ['1']]])), compress(new Map([['a', ['1']]]))];
    const plain = zlib.inflateSync(Buffer.concat(blocks), {
      dictionary: spdyDictionary(),
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
    });
    const one = '0000000100000001610000000131';
    assert.equal(plain.toString('hex'), one + one);
  });

  it('refuse a zlib bomb, a wrong dictionary, doubled and upper-case names', () => {
    const compress = createHeaderCompressor();
    const bomb = compress(new Map([['a', ['0'.repeat(1_000_000)]]]));
    assert.ok(bomb.length < 2_000);
    assert.throws(() => createHeaderDecompressor()(bomb), /larger than/i);
    const other = zlib.deflateSync('x', {
      dictionary: Buffer.from('another'),
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
    });
    assert.throws(() => createHeaderDecompressor()(other), /unknown dictionary/);
    const raw = (hex: string): Buffer =>
      zlib.deflateSync(Buffer.from(hex, 'hex'), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
    const pair = (name: string): string => `00000001${name}00000000`;
    assert.throws(() => createHeaderDecompressor()(raw(`00000002${pair('61')}${pair('61')}`)), /twice/);
    assert.throws(() => createHeaderDecompressor()(raw(`00000001${pair('41')}`)), /lower case/);
    assert.throws(() => createHeaderDecompressor()(raw('0000000100000002')), /ends early/);
    assert.throws(() => createHeaderDecompressor()(raw('00ffffff')), /headers/);
  });
});
