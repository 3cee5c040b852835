// An HTTP/2 client for attacks: raw header lists, repeats kept apart, and the way a stream ended. node:http2 reports a
// reset with NO_ERROR and a proper end alike, so the end is taken from END_STREAM alone.
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { SecureContextOptions } from 'node:tls';
import type { Endpoint } from './raw-client.ts';

/** One answer over HTTP/2. */
export interface Http2Answer {
  /** 0 when the stream was reset before an answer. */
  readonly status: number;
  readonly body: string;
  /** True for END_STREAM, false when the stream was reset or the session ended. */
  readonly complete: boolean;
  readonly rstCode: number | undefined;
  values(name: string): string[];
}

/** Opens a session. */
export async function openHttp2(endpoint: Endpoint, options: SecureContextOptions = {}): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${endpoint.port}`, {
    ca: endpoint.ca,
    maxHeaderListPairs: 20_000,
    maxSendHeaderBlockLength: 4 * 1024 * 1024,
    ...options,
  } as Parameters<typeof connect>[1]);
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

/** Header list of a request: pseudo headers, then name, value, name, value. */
export function http2Headers(method: string, path: string, headers: readonly string[] = []): string[] {
  return [':method', method, ':scheme', 'https', ':authority', 'gateway.test', ':path', path, ...headers];
}

/** Opens a stream with exactly this list. */
export function openStream(session: ClientHttp2Session, list: readonly string[], endStream = true): ClientHttp2Stream {
  const stream = session.request(list, { endStream });
  stream.on('error', () => undefined);
  return stream;
}

/** Collects the answer of a stream. */
export async function http2Answer(stream: ClientHttp2Stream): Promise<Http2Answer> {
  let raw: readonly string[] = [];
  let ended = false;
  const chunks: Buffer[] = [];
  const push = stream.push.bind(stream);
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) ended = true;
    return push(chunk, encoding);
  };
  stream.on('response', (_headers: unknown, _flags: unknown, list: string[]) => {
    raw = list;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
  const values = (name: string): string[] => raw.filter((_, i) => i % 2 === 1 && raw[i - 1] === name);
  return {
    status: Number(values(':status')[0] ?? 0),
    body: Buffer.concat(chunks).toString('latin1'),
    complete: ended,
    rstCode: stream.rstCode,
    values,
  };
}

/** Sends one request and collects its answer. */
export async function http2Exchange(
  session: ClientHttp2Session,
  list: readonly string[],
  body?: string | Buffer,
): Promise<Http2Answer> {
  const stream = openStream(session, list, body === undefined);
  if (body !== undefined) stream.end(body);
  return http2Answer(stream);
}
