import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HttpFault } from '../http-fault.ts';
import { isRepeated } from '../repeated-headers.ts';
import { HeadReader, judge as judgeHead, parseRequestHead } from './http1-parser.ts';
import type { Http1Head } from './http1-parser.ts';
import { readHttp1Head } from '../request-framing.ts';

/** Reads a head that comes in pieces; gives it and what follows it. */
function readPieces(pieces: readonly Buffer[]): { head: Http1Head | undefined; rest: string } {
  const reader = new HeadReader();
  for (const [i, piece] of pieces.entries()) {
    const used = reader.read(piece);
    if (used < 0) continue;
    const rest = Buffer.concat([piece.subarray(used), ...pieces.slice(i + 1)]).toString('latin1');
    return { head: reader.head, rest };
  }
  return { head: undefined, rest: '' };
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Everything a request line and its fields are judged by, in the order of the connection. */
function judge(text: string): void {
  const { head } = readPieces([latin1(text)]);
  assert.ok(head !== undefined, 'the head is complete');
  readHttp1Head(head.headers);
}

test('a head is read the same wherever it is cut in two', () => {
  const text = 'POST /a?b HTTP/1.1\r\nHost: x\r\nX-Name:  j\xfcrgen\t \r\nEmpty:\r\nContent-Length: 4\r\n\r\nbodyGET';
  const expected = {
    method: 'POST',
    target: '/a?b',
    headers: ['Host', 'x', 'X-Name', 'j\xfcrgen', 'Empty', '', 'Content-Length', '4'],
    version: 'HTTP/1.1',
  };
  for (let cut = 0; cut <= text.length; cut++) {
    const { head, rest } = readPieces([latin1(text.slice(0, cut)), latin1(text.slice(cut))]);
    assert.deepEqual(head, expected, `cut at ${cut}`);
    assert.equal(rest, 'bodyGET');
  }
  assert.deepEqual(readPieces([...text].map(latin1)).head, expected);
});

test('a reader reads one head after the other, whole and in pieces', () => {
  const reader = new HeadReader();
  const one = latin1('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n');
  for (const pieces of [[one], [one.subarray(0, 7), one.subarray(7)], [one]]) {
    const ends = pieces.map((piece) => reader.read(piece));
    assert.equal(ends.at(-1), pieces.at(-1)!.length);
    assert.equal(reader.head!.target, '/1');
    assert.equal(reader.started, false);
  }
});

const requestLine = 'GET /api HTTP/1.1\r\n';
const malformed: readonly (readonly [string, string])[] = [
  ['a bare LF behind the request line', 'GET /api HTTP/1.1\nHost: x\r\n\r\n'],
  ['a bare LF behind a field', `${requestLine}Host: x\nX: y\r\n\r\n`],
  ['a bare CR in a value', `${requestLine}Host: x\r\nX: a\rb\r\n\r\n`],
  ['a bare CR before a name', `${requestLine}Host: x\r\n\rX: a\r\n\r\n`],
  ['CR CR LF', `${requestLine}Host: x\r\r\n\r\n`],
  ['a NUL in a value', `${requestLine}Host: x\r\nX: a\0b\r\n\r\n`],
  ['a control character in a value', `${requestLine}Host: x\r\nX: a\x01b\r\n\r\n`],
  ['DEL in a value', `${requestLine}Host: x\r\nX: a\x7fb\r\n\r\n`],
  ['a folded line', `${requestLine}Host: x\r\nX: a\r\n b\r\n\r\n`],
  ['a line folded with a tab', `${requestLine}Host: x\r\nX: a\r\n\tb: c\r\n\r\n`],
  ['a blank first field', `${requestLine} Host: x\r\n\r\n`],
  ['a blank before the colon', `${requestLine}Host : x\r\n\r\n`],
  ['a tab before the colon', `${requestLine}Host: x\r\nContent-Length\t: 1\r\n\r\n`],
  ['a line without a colon', `${requestLine}Host: x\r\nTransfer-Encoding\r\n\r\n`],
  ['an empty name', `${requestLine}Host: x\r\n: y\r\n\r\n`],
  ['a name that is no token', `${requestLine}Host: x\r\nX(y): z\r\n\r\n`],
  ['a name beyond ASCII', `${requestLine}Host: x\r\nX\xff: z\r\n\r\n`],
  ['a method that is no token', `G(T /api HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['no method', ` /api HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['two blanks before the target', `GET  /api HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['two blanks behind the target', `GET /api  HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a blank in the target', `GET /api /b HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a tab in the target', `GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a tab for a blank', `GET\t/api\tHTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a blank behind the version', `GET /api HTTP/1.1 \r\nHost: x\r\n\r\n`],
  ['HTTP/0.9', `GET /api\r\n\r\n`],
  ['a version in lower case', `GET /api http/1.1\r\nHost: x\r\n\r\n`],
  ['a version of two digits', `GET /api HTTP/1.10\r\nHost: x\r\n\r\n`],
  ['an empty head', `\r\n\r\n`],
  ['an empty line first', `\r\nGET /api HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['an HTTP/2 preface', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`],
  ['no Host', `${requestLine}X: y\r\n\r\n`],
  ['two Hosts', `${requestLine}Host: x\r\nhost: x\r\n\r\n`],
  [
    'Content-Length and Transfer-Encoding',
    `${requestLine}Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${requestLine}Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n`,
  ],
  ['two equal lengths', `${requestLine}Host: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n`],
  ['two chunked', `${requestLine}Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ...['+5', '5,5', '0x5', '-1', '5 5', '', '1e3', '9'.repeat(16), '5;'].map(
    (length) => [`Content-Length "${length}"`, `${requestLine}Host: x\r\nContent-Length: ${length}\r\n\r\n`] as const,
  ),
  ...['xchunked', 'chunked, identity', 'identity', 'gzip, chunked', 'chunked;q=1', '"chunked"', 'chunked,', ''].map(
    (coding) =>
      [`Transfer-Encoding "${coding}"`, `${requestLine}Host: x\r\nTransfer-Encoding: ${coding}\r\n\r\n`] as const,
  ),
  ['an expectation nobody knows', `${requestLine}Host: x\r\nExpect: 200-ok\r\n\r\n`],
  ...['\u00f0 close', 'x close', 'close;q=1', '"close"', 'close\u00a0'].map(
    (options) => [`Connection "${options}"`, `${requestLine}Host: x\r\nConnection: ${options}\r\n\r\n`] as const,
  ),
  [
    'an upgrade with a body',
    `${requestLine}Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n`,
  ],
];
for (const [what, text] of malformed) {
  test(`a request with ${what} is refused`, () => {
    const refusedAs400 = (error: unknown): boolean => error instanceof HttpFault && error.status === 400;
    if (!/HTTP\/2\.0/.test(text)) assert.throws(() => judge(text), refusedAs400);
    else assert.equal(readPieces([latin1(text)]).head!.version, 'other');
  });
}

test('other versions are told apart, not taken for 1.1', () => {
  for (const version of ['0.9', '2.0', '1.2', '0.0', '9.9']) {
    const head = parseRequestHead(`GET / HTTP/${version}\r\nHost: x\r\n`);
    assert.equal(head.version, 'other');
    assert.throws(() => judgeHead(head), /the HTTP version is not supported/);
  }
  assert.equal(parseRequestHead('GET / HTTP/1.0\r\n').version, 'HTTP/1.0');
});

test('a request of HTTP/1.0 needs no Host, closes, and waits for nothing', () => {
  const of = (fields: string, line = 'GET /readyz'): ReturnType<typeof judgeHead> =>
    judgeHead(parseRequestHead(`${line} HTTP/1.0\r\n${fields}`));
  const plain = { body: 'none', host: '', close: true, expectsContinue: false, upgrade: false };
  for (const fields of ['', 'Connection: keep-alive\r\n', 'Expect: 100-continue\r\n', 'Content-Length: 0\r\n'])
    assert.deepEqual(of(fields), plain, fields);
  for (const method of ['HEAD', 'OPTIONS', 'POST']) assert.deepEqual(of('', `${method} /`), plain);
  assert.deepEqual(of('Host: a:1\r\nContent-Length: 4\r\n'), { ...plain, host: 'a:1', body: 4 });
  const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  assert.deepEqual(of(websocket), plain);
});

test('a request of HTTP/1.0 is refused where one of HTTP/1.1 would be, and with a Transfer-Encoding', () => {
  for (const fields of [
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked\r\nContent-Length: 4',
    'Content-Length: 4\r\nTransfer-Encoding: chunked',
    'Content-Length: 4\r\nContent-Length: 4',
    'Content-Length: +4',
    'Host: a\r\nHost: a',
    'Host: a/b',
    'Connection: "keep-alive"',
  ])
    assert.throws(
      () => judgeHead(parseRequestHead(`POST /readyz HTTP/1.0\r\n${fields}\r\n`)),
      (error) => error instanceof HttpFault && error.status === 400,
      fields,
    );
  assert.throws(() => judgeHead(parseRequestHead('CONNECT a:1 HTTP/1.0\r\n')), /CONNECT is not supported/);
});

test('a bare LF is refused before the head is complete', () => {
  const reader = new HeadReader();
  reader.read(latin1('GET / HTTP/1.1'));
  assert.throws(() => reader.read(latin1('\nHost: x\n\n')), HttpFault);
});

test('a head of 1 MiB passes, one more byte is 431, in one piece and in many', () => {
  const fill = (bytes: number): string => {
    const text = `${requestLine}Host: x\r\nX: `;
    return `${text}${'a'.repeat(bytes - text.length - 2)}\r\n\r\n`;
  };
  const mebibyte = 1024 * 1024;
  const tooLarge = (error: unknown): boolean => error instanceof HttpFault && error.status === 431;
  const inPieces = (text: string): Buffer[] => {
    const bytes = latin1(text);
    return Array.from({ length: Math.ceil(bytes.length / 10_000) }, (_, i) => bytes.subarray(i * 1e4, i * 1e4 + 1e4));
  };
  for (const cut of [(text: string) => [latin1(text)], inPieces]) {
    assert.equal(readPieces(cut(fill(mebibyte))).head!.headers[3]!.length, mebibyte - 33);
    assert.throws(() => readPieces(cut(fill(mebibyte + 1))), tooLarge);
    assert.throws(() => readPieces(cut('a'.repeat(mebibyte + 5))), tooLarge);
  }
  assert.throws(() => parseRequestHead(`${requestLine}${'a: b\r\n'.repeat(20_001)}`), tooLarge);
  assert.equal(parseRequestHead(`${requestLine}${'a: b\r\n'.repeat(20_000)}`).headers.length, 40_000);
});

test('whatever a client may send comes out as it was sent, however it is cut', () => {
  const tokenChar = fc.constantFrom(..."!#$%&'*+.^_`|~09AZaz-");
  const valueChar = fc.constantFrom(...'\t !"~az:;,\x80\xff');
  const field = fc.tuple(fc.string({ unit: tokenChar, minLength: 1 }), fc.string({ unit: valueChar }));
  const trim = (value: string): string => value.replace(/^[ \t]+|[ \t]+$/g, '');
  fc.assert(
    fc.property(fc.array(field), fc.array(fc.nat(400)), (fields, cuts) => {
      const text = `GET /x HTTP/1.1\r\n${fields.map(([name, value]) => `${name}:${value}\r\n`).join('')}\r\n`;
      const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
      const pieces = at.slice(1).map((end, i) => latin1(text.slice(at[i], end)));
      assert.deepEqual(
        readPieces(pieces).head?.headers,
        fields.flatMap(([name, value]) => [name, trim(value)]),
      );
    }),
  );
});

test('no bytes make the reader throw anything but a refusal', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1\r\n',
      'Host: x\r\n',
      '\r\n',
      '\r',
      '\n',
      ' ',
      ':',
      '\0',
      'Transfer-Encoding: chunked',
    ),
    fc.string({ unit: 'binary-ascii' }),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      try {
        const { head } = readPieces(pieces.map(latin1));
        if (head !== undefined) assert.match(head.method + head.target, /^[\x21-\x7e]+$/);
      } catch (error) {
        assert.ok(error instanceof HttpFault, String(error));
      }
    }),
  );
});

test('fields that repeat on a connection are one list, and one byte of difference makes another', () => {
  const reader = new HeadReader();
  const read = (text: string): readonly string[] => {
    assert.equal(reader.read(latin1(text)), text.length);
    return reader.head!.headers;
  };
  const asAda = 'HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\n\r\n';
  const asBob = 'HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bob\r\n\r\n';
  const first = read(`GET /a ${asAda}`);
  const second = read(`GET /b ${asAda}`);
  assert.equal(second, first);
  assert.ok(isRepeated(second));
  const other = read(`GET /b ${asBob}`);
  assert.deepEqual(other, ['Host', 'x', 'Authorization', 'Bearer bob']);
  assert.ok(!isRepeated(other));
  assert.deepEqual(read(`GET /a ${asAda}`), first);
  assert.notEqual(new HeadReader().read(latin1(`GET /a ${asAda}`)), -1);
});

test('a request line is judged in front of fields that repeat', () => {
  const reader = new HeadReader();
  const fields = '\r\nHost: x\r\n\r\n';
  reader.read(latin1(`GET /a HTTP/1.1${fields}`));
  reader.read(latin1(`GET /a HTTP/1.1${fields}`));
  for (const line of [
    'GET /a\x01 HTTP/1.1',
    'G\rET /a HTTP/1.1',
    'GET /a HTTP/1.1\r',
    'GET /a HTTP/1.1\n',
    'GET  /a HTTP/1.1',
  ]) {
    assert.throws(() => reader.read(latin1(line + fields)), HttpFault, JSON.stringify(line));
  }
});

test('heads are read the same whatever the heads before them on the connection were', () => {
  const head = fc
    .record({
      line: fc.constantFrom(
        'GET /a HTTP/1.1',
        'GET /b HTTP/1.1',
        'PUT /a HTTP/1.1',
        'GET /a HTTP/1.0',
        'GET  HTTP/1.1',
      ),
      fields: fc.constantFrom(
        'Host: x',
        'Host: y',
        'Host: x\r\nAuthorization: Bearer a',
        'Host: x\r\nAuthorization: Bearer b',
        'a b: c',
      ),
    })
    .map(({ line, fields }) => latin1(`${line}\r\n${fields}\r\n\r\n`));
  const reported = (reader: HeadReader, piece: Buffer): unknown => {
    try {
      assert.equal(reader.read(piece), piece.length);
      return { ...reader.head };
    } catch (error) {
      return (error as Error).message;
    }
  };
  fc.assert(
    fc.property(fc.array(head, { minLength: 1, maxLength: 12 }), (heads) => {
      const reader = new HeadReader();
      for (const each of heads) assert.deepEqual(reported(reader, each), reported(new HeadReader(), each));
    }),
    { numRuns: 200 },
  );
});

test('a head that was taken and forgotten is not kept, and neither is one that was only begun (ATT-41)', () => {
  const reader = new HeadReader();
  const long = 'x'.repeat(900_000);
  assert.ok(reader.read(latin1(`GET /a HTTP/1.1\r\nHost: x\r\nA: ${long}\r\n\r\n`)) > 0);
  assert.equal(reader.head?.headers[3], long);
  reader.forget();
  assert.equal(reader.head, undefined);
  assert.equal(reader.read(latin1(`GET /a HTTP/1.1\r\nA: ${long}`)), -1);
  assert.ok(reader.started && reader.heldBytes >= 900_000 && reader.heldBytes <= 1024 * 1024 + 4);
  reader.forget();
  assert.deepEqual([reader.started, reader.heldBytes], [false, 0]);
});
