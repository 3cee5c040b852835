// Answers port-forward: pairs of a data and an error stream over SPDY, directly or in a WebSocket tunnel. The error
// stream of every forwarded connection must be ended, even without an error, since the client waits for its end.
import type { Duplex } from 'node:stream';
import { servePort } from './port-server.ts';
import { SpdySession } from './spdy/spdy-session.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';

/** The pod to which ports are forwarded. */
export interface ForwardTarget {
  /** `namespace/name` of the pod. */
  readonly pod: string;
  readonly uid: string;
  /** The ports that the pod's containers declare. */
  readonly ports: ReadonlySet<number>;
}

/**
 * How many milliseconds a data stream waits for its error stream, or an error stream for its data stream, as in
 * kubelet. After that, the stream is closed.
 */
const pairTimeoutMs = 30_000;

/** The two streams of one forwarded connection. While one of them is missing, `timer` runs. */
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
      const id = stream.header('requestid');
      if (!isPort(stream.header('port') ?? '') || (type !== 'data' && type !== 'error') || id === undefined)
        return false;
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
