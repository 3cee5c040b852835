// A raw WebSocket client: exec and attach over the channel protocols, and SPDY tunnelled for port-forward. kubectl
// falls back to SPDY in silence when a WebSocket fails, so only a client like this one proves that WebSockets work.
import { createHash, randomBytes } from 'node:crypto';
import { SpdySession } from '../../sim/streams/spdy/spdy-session.ts';
import { WebSocketConnection, type WebSocketEvents } from '../../sim/streams/websocket/websocket-connection.ts';
import { createTunnel } from '../../sim/streams/websocket/websocket-tunnel.ts';
import { createOutputGatherer, execTarget, type ExecCall, type ExecSession } from './exec-session.ts';
import type { SpdyConnection } from './spdy-client.ts';
import { headerValues, requestUpgrade, type ConnectOptions, type Upgraded } from './upgrade-client.ts';

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

/** Opens a WebSocket with the given events. */
export async function connectWebSocket(
  options: ConnectOptions,
  call: { readonly target: string; readonly protocols: readonly string[] },
  events: WebSocketEvents,
): Promise<{ readonly connection: WebSocketConnection; readonly protocol: string }> {
  const { upgraded, protocol } = await handshake(options, call);
  return {
    connection: new WebSocketConnection(upgraded.socket, events, { role: 'client', head: upgraded.head }),
    protocol,
  };
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
    close: () => connection.destroy(),
  };
}

/** Connects for port-forward with SPDY inside WebSocket messages. `path` ends in `/portforward`. */
export async function connectForwardOverWebSocket(options: ConnectOptions, path: string): Promise<SpdyConnection> {
  const { upgraded, protocol } = await handshake(options, { target: path, protocols: [tunnelProtocol] });
  const tunnel = createTunnel(upgraded.socket, { role: 'client', head: upgraded.head });
  const closed = Promise.withResolvers<void>();
  return {
    session: new SpdySession(tunnel, { role: 'client', onClose: closed.resolve }),
    protocol,
    closed: closed.promise,
  };
}
