// The fault switches on a running simulator, over TLS and both HTTP versions: what a gateway's tests build on. A reset
// must reach the TCP connection below TLS, or the client sees an orderly end.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { startSimulator, type Simulator } from '../../../sim/server.ts';
import { execOverWebSocket } from '../../clients/websocket-client.ts';
import { UpgradeRefused, type ConnectOptions } from '../../clients/upgrade-client.ts';

let simulator: Simulator;
let connection: ConnectOptions;

before(async () => {
  simulator = await startSimulator({ controllers: { podStartMs: 1 } });
  const headers = [['Authorization', `Bearer ${simulator.adminToken}`]] as const;
  connection = { host: '127.0.0.1', port: simulator.port, ca: simulator.caPem, headers };
  const containers = [{ name: 'web', image: 'nginx' }];
  simulator.store.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } });
  await new Promise<void>((resolve) => {
    const check = (): void => {
      if (simulator.store.get('Pod', 'default', 'web')?.['status']?.phase === 'Running') resolve();
    };
    simulator.store.subscribe('Pod', check);
    check();
  });
});

after(() => simulator.close());

interface Answer {
  readonly text: string;
  /** Code of the socket's error, undefined for an orderly end. */
  readonly error: string | undefined;
}

/** One HTTP/1.1 request on a connection of its own; everything up to its end. */
function ask(path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = tls.connect({
      host: '127.0.0.1',
      port: simulator.port,
      ca: simulator.caPem,
      ALPNProtocols: ['http/1.1'],
    });
    let text = '';
    let error: string | undefined;
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', (fault: NodeJS.ErrnoException) => (error = fault.code));
    socket.on('close', () => resolve({ text, error }));
    const lines = [
      `GET ${path} HTTP/1.1`,
      'Host: sim',
      `Authorization: Bearer ${simulator.adminToken}`,
      'Connection: close',
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}

interface Http2Answer {
  readonly status: number | undefined;
  readonly bytes: number;
  readonly resetBy: number;
}

function ask2(session: http2.ClientHttp2Session, path: string): Promise<Http2Answer> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': path, authorization: `Bearer ${simulator.adminToken}` });
    let status: number | undefined;
    let bytes = 0;
    stream.on('response', (headers) => (status = headers[':status']));
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stream.on('error', () => undefined);
    stream.on('close', () => resolve({ status, bytes, resetBy: stream.rstCode ?? -1 }));
  });
}

describe('faults over HTTP/1.1 and TLS', () => {
  it('reset reaches the TCP connection', async () => {
    await simulator.faults.add({ kind: 'reset', count: 1 });
    assert.deepEqual(await ask('/version'), { text: '', error: 'ECONNRESET' });
    assert.match((await ask('/version')).text, /^HTTP\/1.1 200 /);
  });

  it('refuse closes the port and opens it again', async () => {
    const refusal = await simulator.faults.add({ kind: 'refuse' });
    assert.equal((await ask('/version')).error, 'ECONNREFUSED');
    await refusal.remove();
    assert.match((await ask('/version')).text, /^HTTP\/1.1 200 /);
  });

  it('truncate cuts lists and single objects alike', async () => {
    for (const path of [
      '/api/v1/pods',
      '/version',
      '/api/v1/namespaces/default/pods/web/log?tailLines=100&follow=true',
    ]) {
      await simulator.faults.add({
        kind: 'truncate',
        afterBytes: 20,
        match: { path: path.split('?', 1)[0] ?? '' },
        count: 1,
      });
      const { text } = await ask(path);
      const body = text
        .slice(text.indexOf('\r\n\r\n') + 4)
        .replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '')
        .trimEnd();
      assert.equal(body.length, 20, JSON.stringify(text));
    }
  });

  it('matches by verb and user, as the simulator names them', async () => {
    const handle = await simulator.faults.add({ kind: 'status', code: 503, match: { verb: 'list', user: 'admin' } });
    assert.match((await ask('/api/v1/pods')).text, /^HTTP\/1.1 503 /);
    assert.match((await ask('/api/v1/namespaces/default/pods/web')).text, /^HTTP\/1.1 200 /);
    assert.equal(handle.hits, 1);
    await handle.remove();
  });

  it('spoils upgrades too', async () => {
    const call = { path: '/api/v1/namespaces/default/pods/web/exec', command: ['echo', 'hi'] };
    await simulator.faults.add({ kind: 'status', code: 500, match: { path: /\/exec/ }, count: 1 });
    await assert.rejects(
      execOverWebSocket(connection, call),
      (error) => error instanceof UpgradeRefused && error.answer.status === 500,
    );
    await simulator.faults.add({ kind: 'slow', delayMs: 5, match: { path: /\/exec/ }, count: 1 });
    const session = await execOverWebSocket(connection, call);
    assert.equal(String((await session.result).stdout), 'hi\n');
    await simulator.faults.add({ kind: 'reset', match: { path: /\/exec/ }, count: 1 });
    await assert.rejects(execOverWebSocket(connection, call));
  });

  it('unsolicited101 answers an ordinary request', async () => {
    await simulator.faults.add({ kind: 'unsolicited101', bytes: 'mine now', count: 1 });
    const options = { host: '127.0.0.1', port: simulator.port, ca: simulator.caPem, ALPNProtocols: ['http/1.1'] };
    const socket = tls.connect(options);
    socket.write('GET /version HTTP/1.1\r\nHost: sim\r\n\r\n');
    let text = '';
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.endsWith('mine now')) break;
    }
    assert.match(
      text,
      /^HTTP\/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmine now$/,
    );
  });
});

describe('faults over HTTP/2', () => {
  it('truncate resets the stream, reset ends the connection, status and slow answer as told', async () => {
    const session = http2.connect(simulator.url, { ca: simulator.caPem });
    session.on('error', () => undefined);
    await simulator.faults.add({ kind: 'truncate', afterBytes: 10, count: 1 });
    assert.deepEqual(await ask2(session, '/api/v1/pods'), { status: 200, bytes: 10, resetBy: 2 });
    await simulator.faults.add({
      kind: 'status',
      code: 429,
      headers: { 'retry-after': '1', connection: 'close' },
      count: 1,
    });
    assert.equal((await ask2(session, '/version')).status, 429);
    await simulator.faults.add({ kind: 'slow', delayMs: 2, bytesPerSecond: 1_000_000, count: 1 });
    assert.equal((await ask2(session, '/version')).status, 200);
    await simulator.faults.add({ kind: 'reset', count: 1 });
    const ended = new Promise((resolve) => session.once('close', resolve));
    assert.equal((await ask2(session, '/version')).status, undefined);
    await ended;
  });
});
