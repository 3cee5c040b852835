import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { packTar } from 'modern-tar';
import type { ExecCall, ExecSession } from '../../test/clients/exec-session.ts';
import {
  connectForwardOverSpdy,
  connectSpdy,
  execOverSpdy,
  openForward,
  type SpdyConnection,
} from '../../test/clients/spdy-client.ts';
import {
  headerValues,
  requestUpgrade,
  UpgradeRefused,
  type ConnectOptions,
} from '../../test/clients/upgrade-client.ts';
import { connectForwardOverWebSocket, execOverWebSocket, handshake } from '../../test/clients/websocket-client.ts';
import { createStreams, type StreamOptions } from './streams.ts';
import { serveStreams } from './streams.fixture.ts';

async function start(t: TestContext, options: StreamOptions = {}): Promise<ConnectOptions> {
  const port = await serveStreams(t, createStreams(options));
  return { host: '127.0.0.1', port, headers: [] };
}

type Run = (options: ConnectOptions, call: ExecCall) => Promise<ExecSession>;

const transports: readonly (readonly [name: string, run: Run])[] = [
  ['v5 over WebSocket', (options, call) => execOverWebSocket(options, call)],
  ['v4 over SPDY', (options, call) => execOverSpdy(options, call)],
];

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => stream.once('end', resolve));
  return Buffer.concat(chunks);
}

async function refusalOf(attempt: Promise<unknown>): Promise<UpgradeRefused> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof UpgradeRefused) return error;
    throw error;
  }
  throw new Error('the upgrade was not refused');
}

for (const [name, run] of transports) {
  describe(`exec, ${name}`, () => {
    it('gives stdout, stderr and the exit code as a Status', async (t) => {
      const server = await start(t);
      const script = 'echo out; echo err >&2; exit 7';
      const session = await run(server, { path: '/exec', command: ['sh', '-c', script] });
      const result = await session.result;
      assert.equal(String(result.stdout), 'out\n');
      assert.equal(String(result.stderr), 'err\n');
      assert.equal(result.exitCode, 7);
      assert.deepEqual(result.status?.details?.causes, [{ reason: 'ExitCode', message: '7' }]);
      assert.equal(result.status?.message, 'command terminated with non-zero exit code: exit status 7');
      const success = await run(server, { path: '/exec', command: ['true'] });
      assert.equal((await success.result).exitCode, 0);
    });

    it('carries 10 MB of stdin to its end and back, intact', async (t) => {
      const server = await start(t);
      const session = await run(server, { path: '/exec', command: ['cat'], stdin: true });
      const data = randomBytes(10 * 1024 * 1024);
      void session.write(data).then(() => session.endInput());
      const result = await session.result;
      assert.equal(digest(result.stdout), digest(data));
      assert.equal(result.exitCode, 0);
    });

    it('keeps files between two execs, and unpacks what tar packs', async (t) => {
      const server = await start(t);
      const put = await run(server, { path: '/exec', command: ['tar', 'xf', '-', '-C', '/tmp'], stdin: true });
      await put.write(Buffer.from(await packTar([{ header: { name: 'a/b/f', size: 8 }, body: 'contents' }])));
      put.endInput();
      assert.equal((await put.result).exitCode, 0);
      const pack = await run(server, { path: '/exec', command: ['tar', 'cf', '-', '/tmp/a'] });
      const packed = await pack.result;
      assert.equal(String(packed.stderr), "tar: removing leading '/' from member names\n");
      const unpack = await run(server, { path: '/exec', command: ['tar', '-xmf', '-', '-C', '/home'], stdin: true });
      await unpack.write(packed.stdout);
      unpack.endInput();
      assert.equal((await unpack.result).exitCode, 0);
      const show = await run(server, { path: '/exec', command: ['cat', '/home/tmp/a/b/f'] });
      assert.equal(String((await show.result).stdout), 'contents');
    });

    it('gives a terminal: echo, prompt, backspace, size and resize, Ctrl-C, Ctrl-D', async (t) => {
      const server = await start(t);
      const ofTheConsole = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh'];
      const session = await run(server, { path: '/exec', command: ofTheConsole, stdin: true, tty: true });
      session.resize(100, 40);
      await session.waitForOutput('/ # ');
      await session.write('never\u0003');
      await session.waitForOutput('never^C\r\n/ # ');
      await session.write('stty sizü\u007f\u001b[A\u001b[1;5Ce\r');
      await session.waitForOutput('stty sizü\b \be\r\n40 100\r\n/ # ');
      session.resize(80, 20);
      await session.write('stty size\n');
      await session.waitForOutput('20 80\r\n/ # ');
      await session.write('sleep 100\r');
      await session.waitForOutput('sleep 100\r\n');
      await session.write('\u0003');
      await session.waitForOutput('sleep 100\r\n^C\r\n/ # ');
      await session.write('echo $?\rcat\rhello\r');
      // Typed ahead: echoed at once, then `echo` says 130, and `cat` gets the line that was waiting.
      await session.waitForOutput('cat\r\nhello\r\n130\r\n/ # hello\r\n');
      await session.write('\u0004exit 5\r');
      const result = await session.result;
      assert.equal(result.exitCode, 5);
      assert.equal(result.stderr.length, 0);
    });

    it('gives half a line to a program at Ctrl-D and at the end of the input', async (t) => {
      const server = await start(t);
      const session = await run(server, { path: '/exec', command: ['cat'], stdin: true, tty: true });
      await session.write('half\u0004');
      await session.waitForOutput('halfhalf');
      await session.write('rest');
      session.endInput();
      const { stdout, exitCode } = await session.result;
      assert.deepEqual([String(stdout), exitCode], ['halfhalfrestrest', 0]);
    });

    it('Ctrl-C ends a program that has the terminal to itself, with 130', async (t) => {
      const server = await start(t);
      const session = await run(server, { path: '/exec', command: ['cat'], stdin: true, tty: true });
      await session.write('line\r');
      await session.waitForOutput('line\r\nline\r\n');
      await session.write('\u0003');
      assert.equal((await session.result).exitCode, 130);
    });

    it('tells of a program that does not exist as an internal error', async (t) => {
      const server = await start(t);
      const result = await (await run(server, { path: '/exec', command: ['frobnicate'] })).result;
      assert.equal(result.exitCode, undefined);
      assert.equal(result.status?.reason, 'InternalError');
      assert.match(result.status?.message ?? '', /exec: "frobnicate": executable file not found in \$PATH/);
    });

    it('ends a running command when the client goes away', async (t) => {
      const ended = Promise.withResolvers<number>();
      const server = await start(t, { onContainerExit: (_pod, _name, code) => ended.resolve(code) });
      const session = await run(server, { path: '/attach', container: 'shell', stdin: true, tty: true });
      await session.waitForOutput('/ # ');
      session.close();
      const again = await run(server, { path: '/attach', container: 'shell', stdin: true, tty: true });
      await again.write('exit 3\r');
      assert.equal((await again.result).exitCode, 0, "the attach went well, the code is the container's");
      assert.equal(await ended.promise, 3, 'only the shell that ended by itself ends its container');
    });

    it('attach shows the log as it grows and echoes what is typed', async (t) => {
      const server = await start(t, { logPeriodMs: 5 });
      const session = await run(server, { path: '/attach', stdin: true });
      await session.waitForOutput('" 200 ');
      await session.write('typed by hand');
      await session.waitForOutput('typed by hand');
      session.close();
    });
  });
}

describe('exec, older protocols', () => {
  it('v4 over WebSocket has exit codes but no end of stdin', async (t) => {
    const server = await start(t);
    const session = await execOverWebSocket(server, { path: '/exec', command: ['sh', '-c', 'exit 9'] }, [
      'v4.channel.k8s.io',
    ]);
    assert.equal(session.protocol, 'v4.channel.k8s.io');
    assert.equal((await session.result).exitCode, 9);
    assert.throws(() => session.endInput(), /cannot half-close/);
  });
});

describe('the upgrade itself', () => {
  it('negotiates SPDY protocols from repeated and comma-separated headers, by GET and POST', async (t) => {
    const server = await start(t);
    for (const [method, protocols] of [
      ['POST', ['v5.channel.k8s.io', 'v4.channel.k8s.io']],
      ['GET', ['v9, v3.channel.k8s.io ,v4.channel.k8s.io']],
    ] as const) {
      const { session, protocol } = await connectSpdy(server, {
        method,
        target: '/exec?stdout=1&command=true',
        protocols,
      });
      assert.equal(protocol, 'v4.channel.k8s.io');
      session.destroy();
    }
  });

  it('ends the output streams of SPDY in good order before it closes', async (t) => {
    const server = await start(t);
    const { session } = await connectSpdy(server, {
      target: '/exec?stdout=1&stderr=1&command=echo&command=x',
      protocols: ['v4.channel.k8s.io'],
    });
    const streams = ['error', 'stdout', 'stderr'].map((type) => session.open(new Map([['streamtype', [type]]])));
    const texts = await Promise.all(streams.map(async (stream) => String(await collect(stream))));
    assert.deepEqual(texts, ['{"metadata":{},"status":"Success"}', 'x\n', '']);
    assert.deepEqual(
      streams.map((stream) => stream.hasReceivedFin),
      [true, true, true],
    );
    session.close();
  });

  it('refuses unknown SPDY protocols with 403 and the list of those it knows, none at all with 400', async (t) => {
    const server = await start(t);
    const unknown = await refusalOf(
      connectSpdy(server, { target: '/exec?stdout=1', protocols: ['v5.channel.k8s.io'] }),
    );
    assert.equal(unknown.answer.status, 403);
    assert.deepEqual(headerValues(unknown.answer, 'x-accepted-stream-protocol-versions'), ['v4.channel.k8s.io']);
    assert.match(
      unknown.body,
      /unable to negotiate protocol: client supports \[v5.channel.k8s.io\], server accepts \[v4/,
    );
    const forward = await refusalOf(connectSpdy(server, { target: '/portforward', protocols: ['v4.channel.k8s.io'] }));
    assert.deepEqual(headerValues(forward.answer, 'x-accepted-stream-protocol-versions'), ['portforward.k8s.io']);
    const none = await refusalOf(connectSpdy(server, { target: '/exec?stdout=1', protocols: [] }));
    assert.equal(none.answer.status, 400);
  });

  it('refuses unknown subprotocols, broken handshakes, foreign upgrades and execs without streams', async (t) => {
    const server = await start(t);
    const status = async (attempt: Promise<unknown>): Promise<number> => (await refusalOf(attempt)).answer.status;
    const tunnel = 'SPDY/3.1+unknown.k8s.io';
    assert.equal(await status(handshake(server, { target: '/exec?stdout=1', protocols: ['v6.channel.k8s.io'] })), 403);
    assert.equal(await status(handshake(server, { target: '/portforward', protocols: [tunnel] })), 403);
    assert.equal(await status(handshake(server, { target: '/portforward', protocols: ['v4.channel.k8s.io'] })), 403);
    assert.equal(
      await status(handshake(server, { target: '/exec?stdout=false', protocols: ['v5.channel.k8s.io'] })),
      400,
    );
    assert.equal(await status(connectSpdy(server, { target: '/exec', protocols: ['v4.channel.k8s.io'] })), 400);
    const call = { method: 'GET', target: '/exec?stdout=1', headers: [] } as const;
    const headers = [['Sec-WebSocket-Protocol', 'v5.channel.k8s.io']] as const;
    assert.equal(await status(requestUpgrade(server, { ...call, token: 'websocket', headers })), 400, 'no key');
    assert.equal(await status(requestUpgrade(server, { ...call, token: 'h2c' })), 400);
  });
});

const forwards: readonly (readonly [name: string, connect: (options: ConnectOptions) => Promise<SpdyConnection>])[] = [
  ['SPDY', (options) => connectForwardOverSpdy(options, '/portforward')],
  ['SPDY in a WebSocket', (options) => connectForwardOverWebSocket(options, '/portforward')],
];

for (const [name, connect] of forwards) {
  describe(`port-forward, ${name}`, () => {
    it('echoes 10 MB each way intact, beside another connection', async (t) => {
      const { session } = await connect(await start(t));
      const transfers = [10, 1].map(async (megabytes, i) => {
        const { data, error } = await openForward(session, 8080, String(i));
        const bytes = randomBytes(megabytes * 1024 * 1024);
        data.end(bytes);
        assert.equal(digest(await collect(data)), digest(bytes));
        assert.equal(await error, '');
      });
      await Promise.all(transfers);
      session.close();
    });

    it('answers HTTP, with a page or with the body it was sent', async (t) => {
      const { session } = await connect(await start(t));
      const page = await openForward(session, 8080, '0');
      page.data.end('GET /x HTTP/1.1\r\nHost: h\r\n\r\n');
      assert.match(
        String(await collect(page.data)),
        /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nhello from shop\/web-0:8080\nGET \/x\n$/,
      );
      const post = await openForward(session, 8080, '1');
      post.data.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello ');
      post.data.write('world and more');
      assert.match(String(await collect(post.data)), /Content-Length: 11\r\n[^]*\r\n\r\nhello world$/);
      const long = await openForward(session, 8080, '2');
      long.data.end(`POST / HTTP/1.1\r\nContent-Length: 50000\r\n\r\n${'x'.repeat(50_000)}`);
      assert.match(String(await collect(long.data)), /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nx{50000}$/);
      const lines = await openForward(session, 8080, '3');
      lines.data.write('GET');
      lines.data.end(' lost\n');
      assert.equal(String(await collect(lines.data)), 'GET lost\n', 'not HTTP: the same bytes');
      session.close();
    });

    it('tells on the error stream that a port is closed, and serves the next one', async (t) => {
      const { session } = await connect(await start(t));
      const closed = await openForward(session, 9999, '0');
      assert.match(await closed.error, /^error forwarding port 9999 to pod .*connection refused/);
      await collect(closed.data);
      assert.equal(closed.data.wasReset, true);
      const open = await openForward(session, 8080, '1');
      open.data.end('ping');
      assert.equal(String(await collect(open.data)), 'ping');
      session.close();
    });

    it('refuses streams without a port or a known type', async (t) => {
      const { session } = await connect(await start(t));
      for (const headers of [
        { streamtype: 'data' },
        { streamtype: 'data', port: '0' },
        { streamtype: 'x', port: '1' },
      ]) {
        const stream = session.open(new Map(Object.entries(headers).map(([key, value]) => [key, [value]])));
        assert.equal(await stream.replied(), false);
      }
      session.close();
    });
  });
}
