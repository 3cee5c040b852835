// HPACK blocks, HTTP/2 frames and header lists. A decoder lives as long as its connection, so an input is several
// blocks in a row.
import { HpackDecoder, HpackFault } from '../../../http/hpack/hpack-decoder.ts';
import { decodeHuffman, encodeHuffman } from '../../../http/hpack/hpack-huffman.ts';
import { HpackEncoder, promisedLength } from '../../../http/hpack/hpack-encoder.ts';
import type { BlockTarget } from '../../../http/hpack/hpack-encoder.ts';
import { ConnectionFault } from '../../../http/http2-faults.ts';
import { FrameReader } from '../../../http/http2/http2-frames.ts';
import { areTrailers, readHttp2Request } from '../../../http/http2/http2-head.ts';
import { HttpFault } from '../../../http/http-fault.ts';
import { mutatedTexts } from '../mutations.ts';
import { must, refusalOf } from '../target.ts';
import type { FuzzTarget } from '../target.ts';

const limits = { bytes: 4096, pairs: 40 };

const blockWords = [
  '\x82',
  '\x86',
  '\x84',
  '\xbe',
  '\xbf',
  '\xff',
  '\xff\xff\xff\xff\x7f',
  '\x40',
  '\x41',
  '\x7f\x00',
  '\x00',
  '\x10',
  '\x20',
  '\x3f\xe1\x1f',
  '\x3f\xe2\x1f',
  '\x0a',
  '\x80',
  '\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff',
  '\x0fwww.example.com',
  '\x0acustom-key',
  '\x0ccustom-value',
  '\x01a',
  '\x7f\x81\x0a',
  '\xff\xff\xff\xff\xff\xff',
] as const;

const blocks: FuzzTarget<string> = {
  name: 'hpack',
  share: 60_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, blockWords),
  check(input) {
    const decoder = new HpackDecoder(limits);
    const bytes = Buffer.from(input, 'latin1');
    const size = 1 + (bytes.length % 61);
    for (let at = 0; at < bytes.length; at += size) {
      const end = Math.min(bytes.length, at + size);
      const before = Buffer.from(bytes);
      const read = refusalOf(
        () => decoder.decode(bytes, at, end),
        // Far beyond the limits it is no fault of the code, but the connection ends all the same.
        (error) => error instanceof HpackFault || error instanceof ConnectionFault,
      );
      must(before.equals(bytes), 'a block was changed by reading it');
      if ('refused' in read) break;
      if (read.value === undefined) continue;
      let listBytes = 0;
      for (let i = 0; i < read.value.length; i += 2)
        listBytes += read.value[i]!.length + read.value[i + 1]!.length + 32;
      must(read.value.length % 2 === 0, 'a name without a value');
      must(listBytes <= limits.bytes && read.value.length <= limits.pairs * 2, 'a list over the limits passed');
      must(
        read.value.every((text) => !/[^\0-\xff]/.test(text)),
        'a text that is not bytes',
      );
      readHttp2Request(read.value, at % 2 === 0);
      areTrailers(read.value);
    }
    checkHuffman(bytes);
    return undefined;
  },
};

/** The code is canonical: what can be decoded has one encoding, which is these very bytes. */
function checkHuffman(bytes: Buffer): void {
  const coded = encodeHuffman(bytes.toString('latin1'));
  must(decodeHuffman(coded, 0, coded.length) === bytes.toString('latin1'), 'a text changes by being coded and decoded');
  const text = decodeHuffman(bytes, 0, bytes.length);
  if (text !== undefined) must(encodeHuffman(text).equals(bytes), 'two codings of one text passed');
}

const frameWords = [
  '\0\0\0',
  '\0\0\x01',
  '\0\0\x05',
  '\0\0\x08',
  '\0\x40\0',
  '\0\x40\x01',
  '\xff\xff\xff',
  '\0\0\0\x04\0\0\0\0\0',
  '\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64',
  '\0\0\x05\0\x01\0\0\0\x01hello',
  '\0\0\x05\0\x08\0\0\0\x01\x02abc',
  '\0\0\x08\x06\0\0\0\0\0pingping',
  '\0\0\x04\x08\0\0\0\0\0\0\0\0\x01',
  '\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08',
  '\0\0\x01\x01\x05\0\0\0\x01\x82',
  '\x09',
  '\x80',
  '\0\0\0\0\x08\0\0\0\x01',
] as const;

const heads: FuzzTarget<string> = {
  name: 'http2-head',
  share: 20_000,
  slowMs: 40,
  arbitrary: (corpus) =>
    mutatedTexts(corpus, [
      '\n',
      ':method\nGET\n',
      ':method\nCONNECT\n',
      ':scheme\nhttps\n',
      ':path\n/api\n',
      ':path\n\n',
      ':authority\na\n',
      'host\na\n',
      'host\nb\n',
      ':status\n200\n',
      'te\ntrailers\n',
      'te\ngzip\n',
      'connection\nclose\n',
      'content-length\n5\n',
      'content-length\n-1\n',
      'expect\n100-continue\n',
      'Upper\na\n',
      'a\n \n',
      'a\n\xe9\n',
      '__proto__\na\n',
      'constructor\nb\n',
    ]),
  check(input) {
    const texts = input.split('\n');
    const list = texts.slice(0, texts.length - (texts.length % 2));
    for (const ends of [true, false]) {
      const head = readHttp2Request(list, ends);
      if (head === undefined || head.fault !== undefined) continue;
      must(head.method !== '' && !/\s/.test(head.method), 'a request without a method');
      must(head.target !== '', 'a request without a target');
      must(
        head.headers.every((text, i) => i % 2 === 1 || (!text.startsWith(':') && text === text.toLowerCase())),
        'a pseudo header among the headers',
      );
      must(
        head.headers.every((text) => !/[\r\n\0]/.test(text)),
        'a line end passed',
      );
      must(
        !head.headers.some((text, i) => i % 2 === 0 && /^(?:connection|transfer-encoding|upgrade)$/.test(text)),
        'a connection header passed',
      );
    }
    roundTrip(list);
    return undefined;
  },
};

/** What our encoder writes, our decoder reads: twice, since the second block leans on what the first one added. */
function roundTrip(list: readonly string[]): void {
  const valid = refusalOf(
    () => promisedLength(200, list),
    (error) => error instanceof HttpFault,
  );
  if ('refused' in valid) return;
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder({ bytes: 1 << 24, pairs: 20_000 });
  const rounds = [0, 1].map(() => {
    const block = new Block();
    encoder.encode(block, 200, list);
    return decoder.decode(block.bytes, 0, block.length);
  });
  must(rounds[0]?.[0] === ':status' && rounds[0][1] === '200', 'our own block cannot be read');
  must(JSON.stringify(rounds[0]) === JSON.stringify(rounds[1]), 'the same head is another one the second time');
  for (let i = 2; i < rounds[0].length; i += 2) {
    const { [i]: name = '', [i + 1]: value = '' } = rounds[0];
    const isThere = list.some(
      (one, at) => at % 2 === 0 && one.toLowerCase() === name && list[at + 1]!.trim() === value.trim(),
    );
    must(isThere, 'a field that was not written is read');
  }
}

class Block implements BlockTarget {
  bytes = Buffer.alloc(256);
  length = 0;
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const grown = Buffer.alloc((this.length + count) * 2);
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

const frames: FuzzTarget<string> = {
  name: 'http2-frames',
  share: 40_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, frameWords),
  check(input) {
    // Now and then without the preface, too.
    const bytes = Buffer.from(input.length % 16 === 0 ? input : preface + input, 'latin1');
    const whole = readFrames(bytes, bytes.length);
    for (const size of [1, 2 + (bytes.length % 9)])
      must(
        JSON.stringify(readFrames(bytes, size)) === JSON.stringify(whole),
        `pieces of ${size} bytes are read in another way`,
      );
    return undefined;
  },
};

/** Every frame as text; pieces of one body are put together, as where they were cut says nothing. */
function readFrames(bytes: Buffer, pieceBytes: number): readonly string[] {
  const events: string[] = [];
  let data = '';
  let expected = 0;
  let reported = 0;
  const reader = new FrameReader({
    onDataBegin(stream, flags, length) {
      data = '';
      expected = length;
      events.push(`data ${stream} ${flags} ${length}`);
    },
    onDataPiece(piece) {
      must(piece.length > 0, 'an empty piece');
      data += piece.toString('latin1');
    },
    onDataEnd(length) {
      must(length === expected && data.length <= length, 'a body of another length than its frame says');
      reported += length;
      events.push(`end ${JSON.stringify(data)}`);
    },
    onFrame(type, flags, stream, from, start, end) {
      must(end - start <= 16_384 && start <= end && end <= from.length, 'a frame outside of its bytes');
      reported += end - start;
      events.push(`${type} ${flags} ${stream} ${from.toString('latin1', start, end)}`);
    },
  });
  const read = refusalOf(
    () => {
      for (let at = 0; at < bytes.length; at += Math.max(1, pieceBytes))
        reader.read(Buffer.from(bytes.subarray(at, Math.min(bytes.length, at + Math.max(1, pieceBytes)))));
    },
    (error) => error instanceof ConnectionFault,
  );
  must(reported <= bytes.length, 'more bytes than came');
  if ('refused' in read) events.push(`fault ${read.refused}`);
  return events;
}

/** All of them, for the list of targets. */
export const http2Targets: readonly FuzzTarget<string>[] = [blocks, heads, frames];
