import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';
import { test } from 'node:test';
import { X509Certificate } from 'node:crypto';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { Arrival } from '../../http/arrival.ts';
import { startListener } from './tls-server.ts';

test('the chain gets address, server name and certificates of the client, the same over both protocols', async () => {
  const authority = await makeTestAuthority();
  const serving = await authority.issue(['gateway.test']);
  const client = await authority.issue(['alice']);
  const arrivals: Arrival[] = [];
  const listener = await startListener(
    { host: '127.0.0.1', port: 0 },
    { cert: serving.cert, key: serving.key, clientCa: authority.ca },
    (arrival) => {
      arrivals.push(arrival);
      arrival.inbound.respond(204, [], true);
      arrival.inbound.end();
    },
  );
  try {
    const shown = { ...client, ca: authority.ca, servername: 'gateway.test' };
    const session = connectHttp2(listener.url, shown);
    await once(session.request({ ':path': '/' }), 'response');
    session.destroy();
    const socket = connect({ host: '127.0.0.1', port: listener.port, ...shown });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    assert.equal(arrivals.length, 2);
    const leaf = new Uint8Array(new X509Certificate(client.cert).raw);
    for (const { peer, inbound } of arrivals) {
      assert.equal(peer.address, '127.0.0.1', inbound.protocol);
      assert.equal(peer.serverName, 'gateway.test');
      assert.equal(peer.tlsAuthorized, true);
      assert.deepEqual(peer.certificates[0], leaf);
    }
  } finally {
    listener.close();
  }
});
