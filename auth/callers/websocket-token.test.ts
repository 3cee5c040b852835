import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { readWebSocketToken } from './websocket-token.ts';

const prefix = 'base64url.bearer.authorization.k8s.io.';
const upgrade = ['Connection', 'upgrade', 'Upgrade', 'websocket'];
const read = (...protocols: string[]) =>
  readWebSocketToken([...upgrade, ...protocols.flatMap((value) => ['Sec-WebSocket-Protocol', value])]);

describe("kube-apiserver's own WebSocket token cases", () => {
  test('a token beside another subprotocol', () => {
    assert.equal(read(`${prefix}dG9rZW4,dummy`), 'token');
    assert.equal(read(`${prefix}dG9rZW4`, 'dummy, dummy2'), 'token');
    assert.equal(read(`dummy\t,  ${prefix}dG9rZW4 `), 'token');
  });
  test('several Connection headers', () => {
    const headers = ['Connection', 'not', 'connection', 'keep-alive, Upgrade', 'UPGRADE', 'WebSocket'];
    assert.equal(readWebSocketToken([...headers, 'sec-websocket-protocol', `${prefix}dG9rZW4,dummy`]), 'token');
  });
  test('no token', () => {
    assert.equal(read(), undefined);
    assert.equal(read(''), undefined);
    assert.equal(read('undefined'), undefined);
    assert.equal(read(prefix), undefined);
  });
});

test('only WebSocket requests carry one', () => {
  const protocol = ['Sec-WebSocket-Protocol', `${prefix}dG9rZW4,dummy`];
  for (const headers of [
    [],
    ['Upgrade', 'websocket'],
    ['Connection', 'upgrade'],
    ['Connection', 'upgrade', 'Upgrade', 'SPDY/3.1'],
    ['Connection', 'upgrade', 'Upgrade', 'websocket', 'Upgrade', 'SPDY/3.1'],
  ]) {
    assert.equal(readWebSocketToken([...headers, ...protocol]), undefined, headers.join());
  }
});

describe('a token that is refused', () => {
  const cases: readonly (readonly [title: string, ...protocols: string[]])[] = [
    ['alone', `${prefix}dG9rZW4`],
    ['twice in one header', `${prefix}dG9rZW4,${prefix}dG9rZW4,dummy`],
    ['twice in two headers', `${prefix}dG9rZW4,dummy`, `${prefix}eA`],
    ['padded', `${prefix}dG9rZQ==,dummy`],
    ['in the other base64 alphabet', `${prefix}a+/a,dummy`],
    ['cut short', `${prefix}dG9rZ,dummy`],
    ['not UTF-8', `${prefix}_w,dummy`],
  ];
  for (const [title, ...protocols] of cases) {
    test(title, () => {
      assert.throws(
        () => read(...protocols),
        (error) =>
          error instanceof GatewayError && error.code === 'UNAUTHENTICATED' && !error.message.includes('dG9rZW4'),
      );
    });
  }
});

test('another spelling of the prefix is just a subprotocol', () => {
  assert.equal(read(`${prefix.toUpperCase()}dG9rZW4,dummy`), undefined);
});
