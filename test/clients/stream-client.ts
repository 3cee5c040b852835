// Answers that take long, over HTTP/1.1 and HTTP/2, read at the pace the test wants and with the way they ended. Easy
// to get wrong: node:http2 reports a lost connection much like a proper end, so `complete` is taken from the last chunk
// or END_STREAM alone.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';

/** A server and what every request to it carries. */
export interface StreamServer {
  /** `https://host:port`, and what goes before every path. */
  readonly url: string;
  readonly caPem: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How an answer ended: as its framing says, broken off by the other side, or given up by us. */
export type AnswerEnd = 'complete' | 'cut' | 'closed';

/** An answer whose head is here and whose body goes on. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What has been read so far. */
  body(): Buffer;
  /** Resolves with the body so far as soon as `found` says so; rejects when the answer ends before. */
  until(found: (body: Buffer) => boolean): Promise<Buffer>;
  /** Stops reading: the rest stays with the sender. */
  pause(): void;
  resume(): void;
  /** Gives the request up without reading the rest. */
  close(): void;
  readonly ended: Promise<AnswerEnd>;
  /** Error code of a received RST_STREAM; undefined with HTTP/1.1 and where none came. */
  resetCode(): number | undefined;
}

/** One way to open answers. */
export interface StreamClient {
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<OpenAnswer>;
  /** Sends a JSON body as one piece. An answer that comes before it was read is an answer, too. */
  post(path: string, body: string): Promise<OpenAnswer>;
  /** Closes all connections without further words. */
  close(): void;
}

/** A client with a connection for every request. */
export function http1Client(server: StreamServer): StreamClient {
  const open = new Set<() => void>();
  const send = async (method: string, path: string, headers: object, body?: string): Promise<OpenAnswer> => {
    const request = httpsRequest(server.url + path, {
      method,
      ca: server.caPem,
      agent: false,
      headers: { ...server.headers, ...headers },
    });
    const close = (): void => void request.destroy();
    open.add(close);
    request.end(body);
    const [response] = (await once(request, 'response')) as [Readable & HeadOfHttp1];
    request.on('error', () => undefined);
    const answer = readAnswer(response, response.statusCode, response.headers, close);
    response.on('close', () => {
      open.delete(close);
      answer.finish(response.complete);
    });
    return answer;
  };
  return {
    protocol: 'HTTP/1.1',
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, body) => send('POST', path, bodyHeaders(body), body),
    close() {
      for (const close of open) close();
    },
  };
}

interface HeadOfHttp1 {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly complete: boolean;
}

/** A client with one connection for all requests (a server allows about 100 at a time). */
export async function http2Client(server: StreamServer): Promise<StreamClient> {
  const { origin, pathname } = new URL(server.url);
  const prefix = pathname === '/' ? '' : pathname;
  const session = connectHttp2(origin, { ca: server.caPem, settings: { enablePush: false } });
  session.on('error', () => undefined);
  await once(session, 'connect');
  const send = async (method: string, path: string, headers: object, body?: string): Promise<OpenAnswer> => {
    const stream = session.request(
      { ':method': method, ':path': prefix + path, ...server.headers, ...headers },
      { endStream: body === undefined },
    );
    let complete = false;
    const push = stream.push.bind(stream);
    // Null before the stream is closed is END_STREAM; after a reset or the loss of the connection it is only tidying
    // up.
    stream.push = (chunk, encoding) => {
      if (chunk === null && !stream.closed) complete = true;
      return push(chunk, encoding);
    };
    if (body !== undefined) stream.end(body);
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }];
    stream.on('error', () => undefined);
    const answer = readAnswer(stream, head[':status'], head, () => stream.close(8));
    stream.on('close', () => answer.finish(complete, session.destroyed ? undefined : stream.rstCode));
    return answer;
  };
  return {
    protocol: 'HTTP/2',
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, body) => send('POST', path, bodyHeaders(body), body),
    close: () => session.destroy(),
  };
}

function bodyHeaders(body: string): Record<string, string> {
  return { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
}

function readAnswer(
  stream: Readable,
  status: number,
  headers: IncomingHttpHeaders,
  giveUp: () => void,
): OpenAnswer & { finish(complete: boolean, resetCode?: number): void } {
  let chunks: Buffer[] = [];
  let closed = false;
  let reset: number | undefined;
  const ended = Promise.withResolvers<AnswerEnd>();
  const body = (): Buffer => {
    if (chunks.length > 1) chunks = [Buffer.concat(chunks)];
    return chunks[0] ?? Buffer.alloc(0);
  };
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => undefined);
  return {
    status,
    headers,
    body,
    until(found) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      const check = (): void => {
        if (found(body())) resolve(body());
      };
      stream.on('data', check);
      void ended.promise.then((end) => reject(new Error(`the answer ended (${end}): ${body().toString()}`)));
      check();
      return promise.finally(() => stream.off('data', check));
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    close() {
      closed = true;
      giveUp();
    },
    ended: ended.promise,
    resetCode: () => reset,
    finish(complete, resetCode) {
      reset = resetCode;
      ended.resolve(closed ? 'closed' : complete ? 'complete' : 'cut');
    },
  };
}
