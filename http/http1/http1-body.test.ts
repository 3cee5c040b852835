import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HttpFault } from '../http-fault.ts';
import type { BodyFraming } from '../inbound.ts';
import { RequestBody } from './http1-body.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Reads a body that comes in pieces; gives it, what follows it, and whether it ended. */
function readPieces(framing: BodyFraming, pieces: readonly string[]): { body: string; rest: string; ended: boolean } {
  const reader = new RequestBody();
  reader.begin(framing);
  let body = '';
  let rest = '';
  for (const piece of pieces) {
    const chunk = latin1(piece);
    const used = reader.ended ? 0 : reader.read(chunk);
    // What follows must be untouched by the moving together of chunks, so it is read before the data.
    rest += chunk.toString('latin1', used);
    if (used > 0 && reader.data !== undefined) body += reader.data.toString('latin1');
  }
  return { body, rest, ended: reader.ended };
}

const chunks = '5;a="b"\r\nhello\r\n1\r\n \r\n00005\r\nworld\r\n0\r\nImpersonate-User: root\r\nX: y\r\n\r\n';

test('a body of known length ends with its last byte wherever it is cut', () => {
  for (let cut = 0; cut <= 14; cut++) {
    const text = 'hello worldGET';
    assert.deepEqual(readPieces(11, [text.slice(0, cut), text.slice(cut)]), {
      body: 'hello world',
      rest: 'GET',
      ended: true,
    });
  }
  assert.equal(readPieces(11, ['hello worl']).ended, false);
});

test('chunks are taken off wherever they are cut; extensions and trailers are dropped', () => {
  const text = `${chunks}GET`;
  for (let cut = 0; cut <= text.length; cut++) {
    const found = readPieces('chunked', [text.slice(0, cut), text.slice(cut)]);
    assert.deepEqual(found, { body: 'hello world', rest: 'GET', ended: true }, `cut at ${cut}`);
  }
  assert.deepEqual(readPieces('chunked', [...text]), { body: 'hello world', rest: 'GET', ended: true });
});

test('no body has ended from the start', () => {
  const reader = new RequestBody();
  reader.begin('none');
  assert.equal(reader.ended, true);
});

for (const [what, text] of [
  ['a size with a sign', '+5\r\nhello\r\n'],
  ['a size with 0x', '0x5\r\nhello\r\n'],
  ['a blank behind the size', '5 \r\nhello\r\n'],
  ['a blank before the size', ' 5\r\nhello\r\n'],
  ['no size', '\r\nhello\r\n'],
  ['a size beyond 2^52', `${'f'.repeat(14)}\r\n`],
  ['a bare LF behind the size', '5\nhello\r\n'],
  ['a bare CR behind the size', '5\r\rhello\r\n'],
  ['a bare LF in an extension', '5;a\nb\r\nhello\r\n'],
  ['a longer chunk than said', '5\r\nhello!\r\n'],
  ['CR and no LF behind a chunk', '5\r\nhello\rX'],
  ['LF alone behind a chunk', '5\r\nhello\n'],
  ['a bare LF in a trailer', '0\r\nA: b\nC: d\r\n\r\n'],
  ['CR X at the end', '0\r\n\rX'],
  ['too many extensions', `5;${'a'.repeat(5000)}`],
  ['too long trailers', `0\r\n${'a: b\r\n'.repeat(20_000)}`],
] as const) {
  test(`chunks with ${what} are refused`, () => {
    const refused = (error: unknown): boolean => error instanceof HttpFault && error.code === 'BAD_REQUEST';
    assert.throws(() => readPieces('chunked', [text]), refused);
    assert.throws(() => readPieces('chunked', [...text]), refused);
  });
}

test('any chunks in any pieces give the bytes that were put in', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary-ascii', minLength: 1 })), fc.array(fc.nat(300)), (parts, cuts) => {
      const text = `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\nGET`;
      const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
      const found = readPieces(
        'chunked',
        at.slice(1).map((end, i) => text.slice(at[i], end)),
      );
      assert.deepEqual(found, { body: parts.join(''), rest: 'GET', ended: true });
    }),
  );
});

test('a trailer that is no header field is refused, as net/http does: the fuzzer saw bytes pass that another server may read anew', () => {
  for (const trailer of ['0', 'a', ' ', ' a: b', ':', 'a b: c', '\xbd: x', 'GET / HTTP/1.1'])
    assert.throws(() => readTrailer(trailer), HttpFault, JSON.stringify(trailer));
  for (const trailer of ['a:', 'X-T: b', "!#$%&'*+-.^_`|~09AZaz: \xe9"]) readTrailer(trailer);
});

test('trailers and a chunk extension are read up to the length that Go reads', () => {
  // 4,096 bytes with the line end and the empty line.
  readTrailer(`a:${'b'.repeat(4096 - 2 - 4)}`);
  assert.throws(() => readTrailer(`a:${'b'.repeat(4096 - 2 - 3)}`), HttpFault);
  const lines = `${Array(340).fill('a: bbbbb').join('\r\n')}`;
  readTrailer(lines);
  assert.throws(() => readTrailer(`${lines}\r\n${lines}`), HttpFault);
  assert.throws(() => readPieces('chunked', [`5;${'a'.repeat(4001)}\r\nhello\r\n0\r\n\r\n`]), HttpFault);
});

function readTrailer(line: string): void {
  const body = new RequestBody();
  body.begin('chunked');
  body.read(Buffer.from(`0\r\n${line}\r\n\r\n`, 'latin1'));
  assert.ok(body.ended);
}
