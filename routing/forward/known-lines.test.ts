// What a connection keeps of one answer must not change how the next one is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ResponseParser } from '../dial/response-parser.ts';

type Reading = readonly [status: number, headers: readonly string[], body: string, keepAlive: boolean] | string;

function reader(): (answer: string, method: 'plain' | 'head') => Reading {
  let status = 0;
  let headers: readonly string[] = [];
  let body = '';
  const parser = new ResponseParser({
    onHeaders: (code, list) => {
      status = code;
      headers = list;
    },
    onData: (chunk) => (body += chunk.toString('latin1')),
  });
  return (answer, method) => {
    status = 0;
    headers = [];
    body = '';
    parser.begin(method);
    try {
      parser.push(Buffer.from(answer, 'latin1'));
    } catch (error) {
      return (error as Error).message;
    }
    return [status, headers, body, parser.complete && parser.keepAlive];
  };
}

const line = fc.constantFrom(
  'Content-Length: 3',
  'content-length: 3',
  'Content-Length: 0',
  'Content-Length: 4',
  'Transfer-Encoding: chunked',
  'Connection: close',
  'Connection: x, Close',
  'Audit-Id: 1',
  'Audit-Id: 2',
  'Audit-Id:1',
  'Audit-Id : 1',
  ' folded: 1',
  'Date: a\u0001b',
  'Date: a\rb',
  'X-A: ',
  'X-A:',
  'no colon',
);
const answer = fc
  .record({
    first: fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.1 404 Not Found',
      'HTTP/1.0 200 OK',
      'HTTP/1.1 204 ',
      'HTTP/1.1 099 No',
    ),
    lines: fc.array(line, { maxLength: 5 }),
    body: fc.constantFrom('', 'abc', '3\r\nabc\r\n0\r\n\r\n'),
  })
  .map(({ first, lines, body }) => [first, ...lines, '', body].join('\r\n'));

test('an answer is read the same whatever the answers before it on its connection were (ATT-36)', () => {
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 8 }),
      fc.constantFrom('plain', 'head'),
      (answers, method) => {
        const one = reader();
        for (const each of answers) assert.deepEqual(one(each, method), reader()(each, method));
      },
    ),
    { numRuns: 300 },
  );
});
