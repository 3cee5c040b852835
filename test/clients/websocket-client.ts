// A raw WebSocket client: exec and attach over the channel protocols, and SPDY tunnelled for port-forward. kubectl
// falls back to SPDY in silence when a WebSocket fails, so only a client like this one proves that WebSockets work.
import { createHash, randomBytes } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { createWebSocketStream, WebSocket } from 'ws';
import { SpdySession } from '../../sim/streams/spdy/spdy-session.ts';
import { createOutputGatherer, execTarget, type ExecCall, type ExecSession } from './exec-session.ts';
import type { SpdyConnection } from './spdy-client.ts';
import { headerValues, requestUpgrade, UpgradeRefused, type ConnectOptions, type Upgraded } from './upgrade-client.ts';

const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';

/** A connection after the handshake. */
export interface WebSocketHandshake {
  readonly upgraded: Upgraded;
  /** Subprotocol the server chose, '' for none. */
  readonly protocol: string;
}

/**
 * Does the opening handshake of RFC 6455.
 * @throws UpgradeRefused when the answer is not 101; Error when Sec-WebSocket-Accept or the subprotocol is wrong
 */
export async function handshake(
  options: ConnectOptions,
  call: { readonly target: string; readonly protocols: readonly string[] },
): Promise<WebSocketHandshake> {
  const key = randomBytes(16).toString('base64');
  const upgraded = await requestUpgrade(options, {
    method: 'GET',
    target: call.target,
    token: 'websocket',
    headers: [
      ['Sec-WebSocket-Key', key],
      ['Sec-WebSocket-Version', '13'],
      ...(call.protocols.length === 0 ? [] : [['Sec-WebSocket-Protocol', call.protocols.join(', ')] as const]),
    ],
  });
  const expected = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const [accept] = headerValues(upgraded, 'sec-websocket-accept');
  const [protocol = ''] = headerValues(upgraded, 'sec-websocket-protocol');
  if (accept !== expected || (protocol !== '' && !call.protocols.includes(protocol))) {
    upgraded.socket.destroy();
    throw new Error(`a wrong handshake: accept ${accept}, protocol ${JSON.stringify(protocol)}`);
  }
  return { upgraded, protocol };
}

/** What a test wants to know of a WebSocket. */
export interface WebSocketEvents {
  onMessage(message: Buffer): void;
  onClose(): void;
}

/**
 * Opens a WebSocket with the given events.
 * @throws UpgradeRefused (rejects) when the answer is not 101; Error when the handshake fails otherwise
 */
export function connectWebSocket(
  options: ConnectOptions,
  call: { readonly target: string; readonly protocols: readonly string[] },
  events: WebSocketEvents,
): Promise<{ readonly connection: WebSocket; readonly protocol: string }> {
  const { host, port, ca, cert, key, serverName = host, timeoutMs = 10_000 } = options;
  const headers: Record<string, string[]> = {};
  for (const [name, value] of options.headers) (headers[name] ??= []).push(value);
  const isName = isIP(serverName) === 0;
  const secured = { ca, cert, key, ALPNProtocols: ['http/1.1'], ...(isName ? { servername: serverName } : {}) };
  let protocol = '';
  // `ws` refuses the names of tunnels because of their slash, so the header is written and read here.
  const finishRequest = (request: ClientRequest): void => {
    if (call.protocols.length > 0) request.setHeader('Sec-WebSocket-Protocol', call.protocols.join(', '));
    request.prependOnceListener('upgrade', (answer: IncomingMessage) => {
      protocol = answer.headers['sec-websocket-protocol'] ?? '';
      delete answer.headers['sec-websocket-protocol'];
    });
    request.end();
  };
  const connection = new WebSocket(`${ca === undefined ? 'ws' : 'wss'}://${host}:${port}${call.target}`, {
    ...secured,
    headers: headers as Record<string, string & string[]>,
    handshakeTimeout: timeoutMs,
    perMessageDeflate: false,
    finishRequest,
  });
  connection.on('message', (message: Buffer) => events.onMessage(message));
  connection.on('close', () => events.onClose());
  return new Promise((resolve, reject) => {
    connection.on('error', reject);
    connection.once('open', () => resolve({ connection, protocol }));
    connection.once('unexpected-response', (request, answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('close', () => {
        const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value) => [name, value] as const),
        );
        reject(new UpgradeRefused({ status: answer.statusCode ?? 0, headers: fields }, String(Buffer.concat(chunks))));
        request.destroy();
      });
    });
  });
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Runs a command over WebSocket, `v5.channel.k8s.io` unless told otherwise. */
export async function execOverWebSocket(
  options: ConnectOptions,
  call: ExecCall,
  protocols: readonly string[] = ['v5.channel.k8s.io'],
): Promise<ExecSession> {
  const gatherer = createOutputGatherer();
  const { connection, protocol } = await connectWebSocket(
    options,
    { target: execTarget(call), protocols },
    {
      onMessage: (message) => {
        const [channel] = message;
        const data = message.subarray(1);
        if (channel === channels.stdout) gatherer.take('stdout', data);
        if (channel === channels.stderr) gatherer.take('stderr', data);
        if (channel === channels.error) gatherer.take('error', data);
      },
      onClose: () => gatherer.finish(),
    },
  );
  const send = (channel: number, data: Buffer): Promise<void> =>
    new Promise((resolve) => {
      connection.send(Buffer.concat([Buffer.from([channel]), data]), () => resolve());
    });
  return {
    protocol,
    result: gatherer.result,
    waitForOutput: gatherer.waitForOutput,
    async write(data) {
      const bytes = Buffer.from(data);
      // Small enough for servers that bound a message, as kubectl's 32 KiB copies are.
      for (let offset = 0; offset < bytes.length; offset += 32_768)
        await send(channels.stdin, bytes.subarray(offset, offset + 32_768));
    },
    endInput() {
      if (protocol !== 'v5.channel.k8s.io') throw new Error(`${protocol} cannot half-close stdin`);
      connection.send(Buffer.from([channels.close, channels.stdin]));
    },
    resize: (columns, rows) =>
      void send(channels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))),
    close: () => connection.terminate(),
  };
}

/** Connects for port-forward with SPDY inside WebSocket messages. `path` ends in `/portforward`. */
export async function connectForwardOverWebSocket(options: ConnectOptions, path: string): Promise<SpdyConnection> {
  const events = { onMessage: () => undefined, onClose: () => undefined };
  const { connection, protocol } = await connectWebSocket(
    options,
    { target: path, protocols: [tunnelProtocol] },
    events,
  );
  const closed = Promise.withResolvers<void>();
  return {
    session: new SpdySession(createWebSocketStream(connection), { role: 'client', onClose: closed.resolve }),
    protocol,
    closed: closed.promise,
  };
}
