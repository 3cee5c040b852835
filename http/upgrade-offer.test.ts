// Which offers to upgrade count, which are ignored, and after which the connection ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHttp10Head, readHttp1Head } from './request-framing.ts';
import { hidesServedUpgrade, servedUpgrade } from './upgrade-offer.ts';

const offered = (connection: string, ...upgrades: readonly string[]): string[] => [
  ...['Host', 'x', 'Connection', connection],
  ...upgrades.flatMap((upgrade) => ['Upgrade', upgrade]),
];
const body = ['Content-Length', '5'];

test('only one served protocol alone is an upgrade', () => {
  for (const token of ['websocket', 'WebSocket', ' websocket\t']) assert.equal(servedUpgrade(token), 'websocket');
  for (const token of ['SPDY/3.1', 'spdy/3.1']) assert.equal(servedUpgrade(token), 'SPDY/3.1');
  for (const token of ['', ',', 'h2c', 'TLS/1.2', 'websocket/13', 'SPDY/3', 'SPDY/3.1.1', 'websocket,', 'websocket x'])
    assert.equal(servedUpgrade(token), undefined, token);
  for (const token of ['websocket', 'SPDY/3.1', 'h2c', 'h2c, TLS/1.2', '', 'websockets, h2c'])
    assert.equal(hidesServedUpgrade(token), false, token);
  for (const token of ['h2c, websocket', 'websocket,websocket', 'TLS/1.2 ,\tspdy/3.1', 'websocket,'])
    assert.equal(hidesServedUpgrade(token), true, token);
});

test('an offer that is not served is ignored, with a body, too', () => {
  for (const upgrade of ['TLS/1.2', 'h2c', 'foo', '', 'SPDY/2', 'TLS/1.2, h2c']) {
    const { upgrade: isUpgrade, close, body: framing } = readHttp1Head([...offered('Upgrade', upgrade), ...body]);
    assert.deepEqual([isUpgrade, close, framing], [false, false, 5], upgrade);
  }
  const chunked = readHttp1Head([...offered('Upgrade, HTTP2-Settings', 'h2c'), 'Transfer-Encoding', 'chunked']);
  assert.deepEqual([chunked.upgrade, chunked.body], [false, 'chunked']);
});

test('a list with a served protocol in it is ignored, and is the last request of its connection', () => {
  for (const upgrades of [['h2c, websocket'], ['h2c', 'websocket'], ['websocket', 'websocket'], ['SPDY/3.1,foo']]) {
    const { upgrade, close } = readHttp1Head(offered('Upgrade', ...upgrades));
    assert.deepEqual([upgrade, close], [false, true], upgrades.join(' and '));
  }
  // An Upgrade field that Connection does not name is for nobody.
  assert.equal(readHttp1Head(offered('keep-alive', 'h2c, websocket')).close, false);
});

test('a served upgrade has no body, and none at all over HTTP/1.0', () => {
  assert.equal(readHttp1Head(offered('keep-alive, Upgrade', 'websocket')).upgrade, true);
  assert.throws(() => readHttp1Head([...offered('Upgrade', 'websocket'), ...body]), /must not have a body/);
  assert.equal(readHttp10Head(offered('Upgrade', 'websocket')).upgrade, false);
});
