// Requests of HTTP/1.0, and offers to upgrade that are ignored: answered, and no byte behind them is read as a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Inbound } from '../inbound.ts';
import { openLine, settle } from './http1-line.fixture.ts';
import type { Line } from './http1-line.fixture.ts';

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const send = (line: Line, bytes: string): void => void line.client.write(bytes, 'latin1');

function answerOk(inbound: Inbound): void {
  inbound.respond(200, ['Content-Length', '2'], false);
  inbound.write(Buffer.from('ok'));
  inbound.end();
}

test('only a served protocol that Connection names is an upgrade', async () => {
  const line = openLine(answerOk);
  const offers = [
    'Upgrade: websocket\r\n',
    'Connection: Upgrade\r\n',
    'Connection: xupgrade\r\nUpgrade: websocket\r\n',
    'Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
  ];
  for (const more of offers) {
    send(line, `GET / HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    await settle();
  }
  assert.deepEqual(
    line.arrivals.map(({ upgradeInbound, headFault }) => [upgradeInbound, headFault]),
    offers.map(() => [undefined, undefined]),
  );
  assert.doesNotMatch(line.received(), /Connection: close/);
});

test('an offer that hides a served protocol in a list is answered, and nothing behind it is read', async () => {
  const line = openLine(answerOk);
  send(line, `GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n${smuggled}`);
  await settle();
  assert.deepEqual(
    line.arrivals.map(({ inbound, upgradeInbound }) => [inbound.target, upgradeInbound]),
    [['/a', undefined]],
  );
  assert.match(line.received(), /^HTTP\/1\.1 200 [\s\S]*Connection: close/);
});

test('a request of HTTP/1.0 is the last of its connection, whatever it asks for and whatever follows', async () => {
  for (const more of [
    '',
    'Host: x\r\n',
    'Connection: keep-alive\r\n',
    'Connection: Upgrade\r\nUpgrade: websocket\r\n',
  ]) {
    const line = openLine(answerOk);
    send(line, `GET /readyz HTTP/1.0\r\n${more}\r\n${smuggled}`);
    await settle();
    const [arrival, other] = line.arrivals;
    assert.equal(other, undefined);
    assert.deepEqual(
      [arrival!.inbound.protocol, arrival!.upgradeInbound, arrival!.headFault],
      ['HTTP/1.0', undefined, undefined],
    );
    assert.match(line.received(), /^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok$/);
  }
});

test('an answer without a length is not sent to HTTP/1.0: it has no chunks, and a cut body would look whole', async () => {
  const thrown: unknown[] = [];
  const line = openLine((inbound) => {
    try {
      inbound.respond(200, [], false);
    } catch (error) {
      thrown.push(error);
    }
    inbound.respond(500, ['Content-Length', '0'], false);
    inbound.end();
  });
  send(line, 'GET / HTTP/1.0\r\n\r\n');
  await settle();
  assert.match(String(thrown[0]), /no Content-Length/);
  assert.match(line.received(), /^HTTP\/1\.1 500 /);
  assert.doesNotMatch(line.received(), /chunked/i);
});
