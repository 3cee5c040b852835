// A raw SPDY/3.1 client for exec, attach and port-forward over an upgraded socket, as kubectl without WebSockets is.
// The error stream is opened first and closed by us at once, or older kubelets wait for it.
import { SpdySession } from '../../sim/streams/spdy/spdy-session.ts';
import type { SpdyStream } from '../../sim/streams/spdy/spdy-stream.ts';
import { createOutputGatherer, execTarget, type ExecCall, type ExecSession } from './exec-session.ts';
import { headerValues, requestUpgrade, type ConnectOptions } from './upgrade-client.ts';

/** An open SPDY connection. */
export interface SpdyConnection {
  readonly session: SpdySession;
  /** Stream protocol the server chose. */
  readonly protocol: string;
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>;
}

/** Upgrades to SPDY/3.1. `protocols` in order of preference, each in a header line of its own. */
export async function connectSpdy(
  options: ConnectOptions,
  call: { readonly method?: 'GET' | 'POST'; readonly target: string; readonly protocols: readonly string[] },
): Promise<SpdyConnection> {
  const upgraded = await requestUpgrade(options, {
    method: call.method ?? 'POST',
    target: call.target,
    token: 'SPDY/3.1',
    headers: call.protocols.map((name) => ['X-Stream-Protocol-Version', name] as const),
  });
  const closed = Promise.withResolvers<void>();
  const session = new SpdySession(upgraded.socket, { role: 'client', head: upgraded.head, onClose: closed.resolve });
  const [protocol = ''] = headerValues(upgraded, 'x-stream-protocol-version');
  return { session, protocol, closed: closed.promise };
}

/** Runs a command over SPDY, `v4.channel.k8s.io` unless told otherwise. */
export async function execOverSpdy(
  options: ConnectOptions,
  call: ExecCall,
  protocols: readonly string[] = ['v4.channel.k8s.io'],
): Promise<ExecSession> {
  const { session, protocol } = await connectSpdy(options, { target: execTarget(call), protocols });
  const gatherer = createOutputGatherer();
  const streams = new Map<string, SpdyStream>();
  const ended: Promise<unknown>[] = [];
  const names = ['error', ...(call.stdin === true ? ['stdin'] : []), 'stdout', call.tty === true ? 'resize' : 'stderr'];
  for (const name of names) {
    const stream = session.open(new Map([['streamtype', [name]]]));
    streams.set(name, stream);
    if (name === 'stdout' || name === 'stderr' || name === 'error') {
      stream.on('data', (chunk: Buffer) => gatherer.take(name, chunk));
      ended.push(new Promise((resolve) => stream.once('end', resolve)));
    } else {
      stream.resume();
    }
    // As kubectl does: the next stream is opened when this one is accepted.
    if (!(await stream.replied())) break;
  }
  streams.get('error')?.end();
  void Promise.all(ended).then(() => {
    session.close();
    gatherer.finish();
  });
  return {
    protocol,
    result: gatherer.result,
    waitForOutput: gatherer.waitForOutput,
    write: (data) => new Promise((resolve) => streams.get('stdin')?.write(data, () => resolve())),
    endInput: () => void streams.get('stdin')?.end(),
    resize: (columns, rows) =>
      void streams.get('resize')?.write(`${JSON.stringify({ Width: columns, Height: rows })}\n`),
    close: () => session.destroy(),
  };
}

/** One forwarded connection. */
export interface ForwardedConnection {
  readonly data: SpdyStream;
  /** Text of the error stream, '' when it ended without any. */
  readonly error: Promise<string>;
}

/** Opens the pair of streams of one forwarded connection, on a plain or tunnelled session. */
export async function openForward(session: SpdySession, port: number, requestId: string): Promise<ForwardedConnection> {
  const headers = (type: string): Map<string, readonly string[]> =>
    new Map([
      ['streamtype', [type]],
      ['port', [String(port)]],
      ['requestid', [requestId]],
    ]);
  const errorStream = session.open(headers('error'));
  await errorStream.replied();
  errorStream.end();
  const error = new Promise<string>((resolve) => {
    let text = '';
    errorStream.on('data', (chunk: Buffer) => (text += chunk.toString()));
    errorStream.once('end', () => resolve(text));
  });
  const data = session.open(headers('data'));
  await data.replied();
  return { data, error };
}

/** Connects for port-forward over plain SPDY. `path` ends in `/portforward`. */
export function connectForwardOverSpdy(options: ConnectOptions, path: string): Promise<SpdyConnection> {
  return connectSpdy(options, { target: path, protocols: ['portforward.k8s.io'] });
}
