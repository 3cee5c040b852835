import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants, createServer } from 'node:http2';
import type { ClientHttp2Stream, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Http2Inbound } from './http2-inbound.ts';

/** A request and the inbound that answers it. */
async function exchange(t: TestContext): Promise<{ client: ClientHttp2Stream; inbound: Http2Inbound }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const arrived = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
  const client = session.request({ ':path': '/' });
  const [stream] = await arrived;
  return { client, inbound: new Http2Inbound(stream, { method: 'GET', target: '/', body: 'none' }, []) };
}

test('an aborted answer is reset and never ended, however long ago its last piece was sent', async (t) => {
  const { client, inbound } = await exchange(t);
  inbound.respond(200, ['Content-Type', 'application/json'], false);
  inbound.write(Buffer.from('half of '));
  const ended: string[] = [];
  client.on('end', () => ended.push('end'));
  const [piece] = (await once(client, 'data')) as [Buffer];
  assert.equal(piece.toString(), 'half of ');
  inbound.abort();
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ERR_HTTP2_STREAM_ERROR');
  assert.equal(client.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  assert.deepEqual(ended, []);
});

test('an aborted answer tells those who listen that it was cut, a complete one that it was not', async (t) => {
  for (const complete of [true, false]) {
    const { client, inbound } = await exchange(t);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    inbound.onClose(resolve);
    client.on('error', () => undefined).resume();
    inbound.respond(200, [], false);
    inbound.write(Buffer.from('text'));
    if (complete) inbound.end();
    else inbound.abort();
    assert.equal(await promise, !complete);
  }
});
