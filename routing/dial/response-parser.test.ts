import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import { ResponseParser } from './response-parser.ts';
import type { ResponseKind } from './response-parser.ts';

interface Parsed {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
  readonly complete: boolean;
  readonly keepAlive: boolean;
  /** Bytes behind the response. */
  readonly rest: string;
}

/** Feeds copies of the pieces, since the parser rewrites what it is given; the member closes at the end if `closes`. */
function parsePieces(pieces: readonly Buffer[], kind: ResponseKind = 'plain', closes = false): Parsed {
  let status = 0;
  let headers: readonly string[] = [];
  let body = '';
  let rest = '';
  const parser = new ResponseParser({
    onHeaders(received, raw) {
      assert.equal(status, 0, 'onHeaders came twice');
      status = received;
      headers = raw;
    },
    onData(chunk) {
      assert.ok(status !== 0 && chunk.length > 0);
      body += chunk.toString('latin1');
    },
  });
  parser.begin(kind);
  for (const piece of pieces) {
    if (parser.complete) {
      rest += piece.toString('latin1');
      continue;
    }
    const used = parser.push(Buffer.from(piece));
    if (used < piece.length) {
      assert.ok(parser.complete, 'bytes were left over before the end');
      rest += piece.toString('latin1', used);
    }
  }
  if (closes) parser.finish();
  const { complete, keepAlive } = parser;
  return { status, headers, body, complete, keepAlive, rest };
}

function parse(text: string, kind: ResponseKind = 'plain', closes = false): Parsed {
  return parsePieces([Buffer.from(text, 'latin1')], kind, closes);
}

/** Cuts at the given offsets. */
function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const edges = [0, ...offsets, bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index]!, end));
}

const good: readonly (readonly [name: string, text: string, kind?: ResponseKind, closes?: boolean])[] = [
  ['a body of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX:y\r\n\r\nhello'],
  ['bytes behind the end', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 X\r\n\r\n'],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['no headers at all', 'HTTP/1.1 304\r\n\r\n'],
  ['an empty body', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  [
    'chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n \r\n5;a="b"\r\nworld\r\n0\r\n\r\nrest',
  ],
  [
    'chunks and trailers',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n000\r\nX: y\r\nZ:\r\n\r\n',
  ],
  ['no chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a close-delimited body', 'HTTP/1.1 200 OK\r\nX: y\r\n\r\nuntil the end', 'plain', true],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc'],
  ['a HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n', 'head'],
  [
    'interim responses',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
  ],
  ['an upgrade', 'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nraw', 'upgrade'],
  ['a refused upgrade', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno', 'upgrade'],
  ['a CONNECT', 'HTTP/1.1 200 Established\r\n\r\nraw', 'connect'],
  [
    'a header value with blanks and upper latin1',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \t a b\xe4\t \r\nY:\r\n\r\n',
  ],
];

describe('response parser', () => {
  it('reads status, headers and body', () => {
    assert.deepEqual(parse(good[0]![1]), {
      status: 200,
      headers: ['Content-Length', '5', 'X', 'y'],
      body: 'hello',
      complete: true,
      keepAlive: true,
      rest: '',
    });
  });

  it('closes up chunks, drops extensions and trailers, and leaves what follows', () => {
    const parsed = parse(good[5]![1]);
    assert.equal(parsed.body, 'hello world');
    assert.equal(parsed.rest, 'rest');
    assert.deepEqual(parse(good[6]![1]).headers, ['transfer-encoding', 'Chunked']);
  });

  it('hands several chunks of one piece over as one, without copying a single one', () => {
    const received: Buffer[] = [];
    const parser = new ResponseParser({ onHeaders() {}, onData: (chunk) => received.push(chunk) });
    parser.begin('plain');
    parser.push(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
    parser.push(Buffer.from('2\r\nab\r\n2\r\ncd\r\n'));
    const own = Buffer.from('3\r\nefg\r\n');
    parser.push(own);
    assert.deepEqual(
      received.map((chunk) => chunk.toString()),
      ['abcd', 'efg'],
    );
    assert.equal(received[1]!.buffer, own.buffer);
    assert.equal(received[1]!.byteOffset, own.byteOffset + 3);
  });

  it('ends a close-delimited body only with the connection, which is then used up', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\nabc';
    assert.equal(parse(text).complete, false);
    const { complete, keepAlive, body } = parse(text, 'plain', true);
    assert.deepEqual([complete, keepAlive, body], [true, false, 'abc']);
  });

  for (const [name, text] of [
    ['a known length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['chunks and unfinished trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n'],
    ['a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ] as const) {
    it(`does not take the end of the connection for the end of ${name}`, () => {
      assert.equal(parse(text, 'plain', true).complete, false);
    });
  }

  for (const [connection, expected] of [
    ['keep-alive', true],
    ['close', false],
    ['Keep-Alive, CLOSE', false],
    ['closed', true],
  ] as const) {
    it(`${expected ? 'keeps' : 'does not keep'} the connection after "Connection: ${connection}"`, () => {
      assert.equal(
        parse(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: ${connection}\r\n\r\n`).keepAlive,
        expected,
      );
    });
  }

  it('accepts equal repeated Content-Length headers', () => {
    assert.equal(parse('HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nab').body, 'ab');
  });

  for (const [name, text, kind, closes] of good) {
    it(`gives the same for ${name}, however it is cut`, () => {
      const bytes = Buffer.from(text, 'latin1');
      const whole = parsePieces([bytes], kind, closes);
      assert.ok(whole.complete);
      for (let at = 1; at < bytes.length; at++) {
        assert.deepEqual(parsePieces(cut(bytes, [at]), kind, closes), whole);
        for (let second = at + 1; second < bytes.length; second++) {
          assert.deepEqual(parsePieces(cut(bytes, [at, second]), kind, closes), whole);
        }
      }
      assert.deepEqual(parsePieces(cut(bytes, [...bytes.keys()].slice(1)), kind, closes), whole);
    });
  }

  it('reads the responses of one connection one after the other', () => {
    const bodies: string[] = [];
    const parser = new ResponseParser({ onHeaders() {}, onData: (chunk) => bodies.push(chunk.toString()) });
    for (const text of [
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n',
    ]) {
      parser.begin('plain');
      assert.equal(parser.started, false);
      assert.equal(parser.push(Buffer.from(text)), text.length);
      assert.ok(parser.complete && parser.keepAlive);
    }
    assert.deepEqual(bodies, ['a', 'b']);
  });
});

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const bad: readonly (readonly [name: string, text: string])[] = [
  ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
  ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['HTTP/1.10', 'HTTP/1.10 200 OK\r\n\r\n'],
  ['lower case http', 'http/1.1 200 OK\r\n\r\n'],
  ['a leading empty line', `\r\n${ok}\r\n`],
  ['status 99', 'HTTP/1.1 099 X\r\n\r\n'],
  ['status 600', 'HTTP/1.1 600 X\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 X\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 X\r\n\r\n'],
  ['a status that is no number', 'HTTP/1.1 2x0 X\r\n\r\n'],
  ['an unsolicited 101', 'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n'],
  ['a bare LF after a header', `${ok}X: y\nZ: z\r\n\r\n`],
  ['only bare LFs', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['a bare CR in a value', `${ok}X: y\rZ: z\r\n\r\n`],
  ['a NUL in a value', `${ok}X: y\0\r\n\r\n`],
  ['a control character in the reason', 'HTTP/1.1 200 O\x01K\r\n\r\n'],
  ['a folded header', `${ok}X: y\r\n z\r\n\r\n`],
  ['a folded header by tab', `${ok}X: y\r\n\tz: z\r\n\r\n`],
  ['a blank before the colon', `${ok}Content-Length : 5\r\n\r\nhello`],
  ['a header without a colon', `${ok}X\r\n\r\n`],
  ['a header without a name', `${ok}: x\r\n\r\n`],
  ['a header name that is no token', `${ok}X(y): z\r\n\r\n`],
  ['Content-Length and Transfer-Encoding', `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['two different lengths', `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`],
  ['a list of lengths', `${ok}Content-Length: 5, 5\r\n\r\n`],
  ['a negative length', `${ok}Content-Length: -5\r\n\r\n`],
  ['a length with a sign', `${ok}Content-Length: +5\r\n\r\n`],
  ['a hexadecimal length', `${ok}Content-Length: 0x5\r\n\r\n`],
  ['an empty length', `${ok}Content-Length:\r\n\r\n`],
  ['a fraction as length', `${ok}Content-Length: 5.0\r\n\r\n`],
  ['a length beyond exact numbers', `${ok}Content-Length: 9007199254740993\r\n\r\n`],
  ['Transfer-Encoding gzip', `${ok}Transfer-Encoding: gzip\r\n\r\n`],
  ['Transfer-Encoding xchunked', `${ok}Transfer-Encoding: xchunked\r\n\r\n`],
  ['Transfer-Encoding gzip, chunked', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
  ['Transfer-Encoding identity', `${ok}Transfer-Encoding: identity\r\n\r\n`],
  ['an empty Transfer-Encoding', `${ok}Transfer-Encoding:\r\n\r\n`],
  ['two Transfer-Encodings', `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['chunks with HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a chunk size with a sign', `${chunked}+5\r\nhello\r\n`],
  ['a chunk size with 0x', `${chunked}0x5\r\nhello\r\n`],
  ['a chunk size with a blank before', `${chunked} 5\r\nhello\r\n`],
  ['a chunk size with a blank behind', `${chunked}5 \r\nhello\r\n`],
  ['an empty chunk size', `${chunked}\r\nhello\r\n`],
  ['a chunk size that is only an extension', `${chunked};x\r\nhello\r\n`],
  ['a chunk size that is too large', `${chunked}FFFFFFFFFFFFFFFF\r\n`],
  ['a chunk size that ends with LF', `${chunked}5\nhello\r\n`],
  ['a chunk size that ends with CR X', `${chunked}5\rXhello\r\n`],
  ['a chunk longer than its size', `${chunked}2\r\nhello\r\n`],
  ['a chunk that ends with LF', `${chunked}5\r\nhello\n`],
  ['a chunk extension with LF', `${chunked}5;a\nb\r\nhello\r\n`],
  ['a flood of chunk extensions', `${chunked}5;${'a'.repeat(20_000)}\r\nhello\r\n`],
  ['a flood of small chunk extensions', `${chunked}${`1;${'a'.repeat(100)}\r\nx\r\n`.repeat(200)}`],
  ['a flood of trailers', `${chunked}0\r\n${'X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n'.repeat(2_000)}\r\n`],
  ['a trailer with a bare LF', `${chunked}0\r\nX: y\n\r\n`],
  ['a trailer with NUL', `${chunked}0\r\nX: \0\r\n\r\n`],
  ['a flood of interim responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(33)],
  ['a head longer than 1 MiB', `${ok}X: ${'y'.repeat(1024 * 1024)}\r\n\r\n`],
  ['a head longer than 1 MiB that does not end', `${ok}X: ${'y'.repeat(1024 * 1024)}`],
  ['more than 20000 headers', `${ok}${'X: y\r\n'.repeat(20_001)}\r\n`],
];

describe('response parser against hostile members', () => {
  for (const [name, text] of bad) {
    it(`refuses ${name}, in one piece and in small ones`, () => {
      const bytes = Buffer.from(text, 'latin1');
      assert.throws(() => parsePieces([bytes]), ResponseFault);
      const step = bytes.length > 10_000 ? 1_000 : 1;
      const offsets: number[] = [];
      for (let at = step; at < bytes.length; at += step) offsets.push(at);
      assert.throws(() => parsePieces(cut(bytes, offsets)), ResponseFault);
    });
  }

  it('tells about bare LFs without waiting for an end that never comes', () => {
    assert.throws(() => parse('HTTP/1.1 200 OK\nContent-'), ResponseFault);
  });

  it('reads a large head that comes byte by byte in linear time', () => {
    const text = `${ok}Content-Length: 0\r\nX: ${'y'.repeat(200_000)}\r\n\r\n`;
    const bytes = Buffer.from(text);
    const parsed = parsePieces(cut(bytes, [...bytes.keys()].slice(1)));
    assert.equal(parsed.headers[3]!.length, 200_000);
  });

  it('never does anything but refuse or parse on damaged responses', () => {
    let seed = 12_345;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return seed % below;
    };
    const alphabet = Buffer.from('\r\n\0 :;,0123456789abcdefABCDEF\txHTP/.', 'latin1');
    for (let round = 0; round < 8_000; round++) {
      const bytes = Buffer.from(good[random(good.length)]![1], 'latin1');
      for (let damage = random(4); damage >= 0; damage--) {
        bytes[random(bytes.length)] = alphabet[random(alphabet.length)]!;
      }
      const offset = random(bytes.length);
      const results = [[offset], [], [...bytes.keys()].slice(1)].map((offsets) => {
        try {
          return parsePieces(cut(bytes, offsets));
        } catch (error) {
          assert.ok(error instanceof ResponseFault, String(error));
          return 'refused';
        }
      });
      assert.deepEqual(results[0], results[1], JSON.stringify(bytes.toString('latin1')));
      assert.deepEqual(results[2], results[1], JSON.stringify(bytes.toString('latin1')));
    }
  });
});
