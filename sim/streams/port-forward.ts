// Answers port-forward: pairs of a data and an error stream over SPDY (directly or in a WebSocket tunnel), or numbered
// channels over WebSocket. The error stream must be ended for every connection, even without an error, since the client
// waits for that.
import { Duplex } from 'node:stream';
import { servePort } from './port-server.ts';
import { SpdySession } from './spdy/spdy-session.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';
import { WebSocketConnection } from './websocket/websocket-connection.ts';
import { opcodes } from './websocket/websocket-frames.ts';

/** The pod to which ports are forwarded. */
export interface ForwardTarget {
  /** `namespace/name` of the pod. */
  readonly pod: string;
  readonly uid: string;
  /** The ports that the pod's containers declare. */
  readonly ports: ReadonlySet<number>;
}

/** How long a data stream waits for its error stream, or the error stream for its data stream; as in kubelet, 30 s. */
const pairTimeoutMs = 30_000;

interface StreamPair {
  data?: SpdyStream;
  error?: SpdyStream;
  timer?: NodeJS.Timeout;
}

/** Serves forwarded connections over SPDY until the client disconnects. */
export function serveSpdyForward(transport: Duplex, head: Buffer, target: ForwardTarget): void {
  const pairs = new Map<string, StreamPair>();
  const session = new SpdySession(transport, {
    role: 'server',
    head,
    onStream: (stream) => {
      const type = stream.header('streamtype');
      if (!isPort(stream.header('port') ?? '') || (type !== 'data' && type !== 'error')) return false;
      const id = requestId(stream, type);
      const pair: StreamPair = pairs.get(id) ?? {};
      if (pair[type] !== undefined) return false;
      pair[type] = stream;
      pairs.set(id, pair);
      if (pair.data !== undefined && pair.error !== undefined) {
        clearTimeout(pair.timer);
        pairs.delete(id);
        forward(target, pair.data, pair.error);
      } else {
        pair.timer = setTimeout(() => {
          pairs.delete(id);
          pair.error?.end(`(request=${id}) timed out waiting for streams`);
          pair.data?.destroy();
        }, pairTimeoutMs);
      }
      return true;
    },
    onClose: () => {
      for (const pair of pairs.values()) clearTimeout(pair.timer);
      session.close();
    },
  });
}

/**
 * The id that data and error stream have in common. Clients older than Kubernetes 1.2 send none: they open the error
 * stream first, and then the data stream with the next stream id.
 */
function requestId(stream: SpdyStream, type: 'data' | 'error'): string {
  return stream.header('requestid') ?? String(type === 'error' ? stream.streamId : stream.streamId - 2);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 65_535;
}

function refusal(target: ForwardTarget, port: number): string {
  return (
    `error forwarding port ${port} to pod ${target.uid}, uid : failed to execute portforward in network namespace: ` +
    `failed to connect to localhost:${port} inside namespace "${target.uid}", IPv4: dial tcp4 127.0.0.1:${port}: ` +
    `connect: connection refused IPv6: dial tcp6 [::1]:${port}: connect: connection refused `
  );
}

function forward(target: ForwardTarget, data: SpdyStream, error: SpdyStream): void {
  const port = Number(data.header('port'));
  error.resume();
  if (!target.ports.has(port)) {
    error.end(refusal(target, port), () => data.destroy());
    return;
  }
  servePort(data, `${target.pod}:${port}`);
  data.once('close', () => error.end());
}

/** The options of port-forward over WebSocket channels. */
export interface ForwardChannelOptions {
  readonly head: Buffer;
  readonly isBase64: boolean;
  /** The requested ports. Port number n uses channel 2n for data and channel 2n+1 for errors. */
  readonly ports: readonly number[];
}

/**
 * Serves port-forward over WebSocket without SPDY. Each port has two channels. The first message on each channel
 * contains the port number (two bytes, little endian).
 */
export function serveChannelForward(socket: Duplex, options: ForwardChannelOptions, target: ForwardTarget): void {
  const { isBase64 } = options;
  const channels: Duplex[] = [];

  const send = (channel: number, data: Buffer, written?: () => void): void => {
    const payload = isBase64
      ? Buffer.from(`${channel}${data.toString('base64')}`)
      : Buffer.concat([Buffer.from([channel]), data]);
    connection.send(payload, () => written?.(), isBase64 ? opcodes.text : opcodes.binary);
  };
  const connection: WebSocketConnection = new WebSocketConnection(
    socket,
    {
      onMessage: (message) => {
        const number = isBase64 ? (message[0] ?? 0) - 0x30 : (message[0] ?? 0);
        const data = isBase64 ? Buffer.from(message.toString('latin1', 1), 'base64') : message.subarray(1);
        const channel = number % 2 === 0 ? channels[number / 2] : undefined;
        if (data.length > 0 && channel !== undefined && !channel.readableEnded && !channel.push(data))
          connection.pause();
      },
      onClose: () => {
        for (const channel of channels) channel.push(null);
      },
    },
    { role: 'server', head: options.head },
  );
  for (const [i, port] of options.ports.entries()) {
    const channel = new Duplex({
      allowHalfOpen: true,
      read: () => connection.resume(),
      write: (chunk: Buffer, _encoding, done) => send(2 * i, chunk, done),
    });
    channels.push(channel);
    const portBytes = Buffer.from([port & 0xff, port >> 8]);
    send(2 * i, portBytes);
    send(2 * i + 1, portBytes);
    if (target.ports.has(port)) servePort(channel, `${target.pod}:${port}`);
    else send(2 * i + 1, Buffer.from(refusal(target, port)));
  }
}
