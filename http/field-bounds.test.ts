import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpFault } from './http-fault.ts';
import { maxFieldBytes, maxSubprotocols } from './field-bounds.ts';
import type { BoundedField } from './field-bounds.ts';
import { readHttp2Request } from './http2/http2-head.ts';
import { readHttp1Head } from './request-framing.ts';

function codeOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof HttpFault, String(error));
    return error.code;
  }
  return 'read';
}

const http1 = (...headers: string[]): string => codeOf(() => readHttp1Head(['Host', 'x', ...headers]));
const http2 = (...headers: string[]): string =>
  readHttp2Request([':method', 'GET', ':scheme', 'https', ':path', '/', ...headers], true)?.fault?.code ?? 'read';

test('Connection, Upgrade, Authorization, Host and the subprotocols are refused over their bounds, and read at them (ATT-49)', () => {
  const read = (name: BoundedField, length: number): string =>
    name === 'Host' ? codeOf(() => readHttp1Head([name, 'a'.repeat(length)])) : http1(name, 'a'.repeat(length));
  for (const [name, bytes] of Object.entries(maxFieldBytes) as [BoundedField, number][])
    assert.deepEqual([read(name, bytes), read(name, bytes + 1)], ['read', 'HEADERS_TOO_LARGE'], name);
});

test('lines of one list header count together, so that many short ones cost no more than a long one (ATT-49)', () => {
  for (const name of ['Connection', 'Upgrade', 'Sec-WebSocket-Protocol'] as const) {
    const lines = (count: number): string[] => Array.from({ length: count }, () => [name, 'a'.repeat(99)]).flat();
    const most = Math.floor((maxFieldBytes[name] + 1) / 100);
    const few = Math.min(most, maxSubprotocols);
    assert.deepEqual([http1(...lines(few)), http1(...lines(most + 1))], ['read', 'HEADERS_TOO_LARGE'], name);
  }
});

test('a hundred subprotocols are read, one more is refused, in one line or in many (ATT-49)', () => {
  const names = Array.from({ length: maxSubprotocols }, (_, i) => `v${i}.channel.k8s.io`);
  const inLines = names.flatMap((name) => ['Sec-WebSocket-Protocol', name]);
  assert.deepEqual([http1('Sec-WebSocket-Protocol', names.join(',')), http1(...inLines)], ['read', 'read']);
  assert.equal(http1('Sec-WebSocket-Protocol', `${names.join(',')},`), 'BAD_HEADERS');
  assert.equal(http1(...inLines, 'Sec-WebSocket-Protocol', 'one.more'), 'BAD_HEADERS');
});

test('Connection still closes and upgrades, wherever in the list its option stands', () => {
  const judged = readHttp1Head([
    'Host',
    'x',
    'connection',
    'keep-alive , CLOSE',
    'Upgrade',
    'websocket',
    'Connection',
    ' upgrade',
  ]);
  assert.deepEqual([judged.close, judged.upgrade], [true, true]);
  const none = readHttp1Head(['Host', 'x', 'Connection', 'closed, upgrades', 'Upgrade', 'websocket']);
  assert.deepEqual([none.close, none.upgrade], [false, false]);
});

test('over HTTP/2 Authorization and the host have the same bounds (ATT-49)', () => {
  const long = (name: BoundedField, more: number): string => 'a'.repeat(maxFieldBytes[name] + more);
  assert.deepEqual(
    [http2('authorization', long('Authorization', 0)), http2('authorization', long('Authorization', 1))],
    ['read', 'HEADERS_TOO_LARGE'],
  );
  assert.deepEqual([http2('host', long('Host', 0)), http2('host', long('Host', 1))], ['read', 'HEADERS_TOO_LARGE']);
  const authority = readHttp2Request(
    [':method', 'GET', ':scheme', 'https', ':path', '/', ':authority', long('Host', 1)],
    true,
  );
  assert.equal(authority?.fault?.code, 'HEADERS_TOO_LARGE');
});
