// A fake member for tests: a raw TCP or TLS server that records all connections and bytes, and a ResponseHandler that
// records an answer. It does not use http.Server, which would correct or refuse the malformed messages that the tests
// send.
import { createServer as createPlainServer } from 'node:net';
import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TlsOptions } from 'node:tls';
import type { GatewayError } from '../../model/errors.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, Transport, UpstreamRequest } from '../call/transport-types.ts';
import { makeTransport } from './transport.ts';
import type { TransportLimits, TransportOptions } from './transport.ts';
import { serve } from '../../test/pretend/server.ts';

/** One connection that the fake member has accepted. */
export interface TestConnection {
  readonly socket: Socket;
  /** Everything received so far, as latin1 text. */
  readonly received: () => string;
  /** Resolves with the received text when it matches. */
  readonly waitFor: (pattern: RegExp) => Promise<string>;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
}

/** A running fake member. */
export interface TestMember {
  readonly port: number;
  /** All accepted connections in order of arrival, closed ones included. */
  readonly connections: readonly TestConnection[];
  /** Resolves with the connection with this index, counted from 0. */
  connection(index: number): Promise<TestConnection>;
  close(): Promise<void>;
}

/** Handles a request head and writes the answer to `socket`. */
export type TestAnswer = (head: string, socket: Socket, connection: TestConnection) => void;

/**
 * Starts a fake member on 127.0.0.1.
 * @param options With `tls` it speaks TLS; `answer` is called with every complete request head
 */
export async function startTestMember(options: {
  readonly tls?: TlsOptions;
  /** Port to listen on; by default any free port. */
  readonly port?: number;
  /** Path of a Unix socket to listen on in place of a port. */
  readonly path?: string;
  readonly answer?: TestAnswer;
  readonly onConnection?: (socket: Socket) => void;
}): Promise<TestMember> {
  const connections: TestConnection[] = [];
  const waiting: { readonly index: number; readonly resolve: (connection: TestConnection) => void }[] = [];
  const accept = (socket: Socket): void => {
    const connection = recordConnection(socket, options.answer);
    connections.push(connection);
    options.onConnection?.(socket);
    for (const { index, resolve } of waiting) if (index < connections.length) resolve(connections[index]!);
  };
  const { tls, port = 0, path } = options;
  const server = tls === undefined ? createPlainServer(accept) : createTlsServer(tls, accept);
  const listening = await serve(server, path === undefined ? { port } : { path });
  return {
    port: listening.port,
    connections,
    connection(index) {
      if (index < connections.length) return Promise.resolve(connections[index]!);
      return new Promise((resolve) => waiting.push({ index, resolve }));
    },
    close: listening.close,
  };
}

/** Runs a test with a fake member without TLS, and closes everything afterwards. */
export async function withMember(
  answer: TestAnswer | undefined,
  run: (transport: Transport, member: TestMember) => Promise<void>,
  limits: TransportLimits = {},
): Promise<void> {
  const member = await startTestMember(answer === undefined ? {} : { answer });
  const transport = makeTransport(memberOptions(member, { limits }));
  try {
    await run(transport, member);
  } finally {
    transport.close('abort');
    await member.close();
  }
}

function recordConnection(socket: Socket, answer: TestAnswer | undefined): TestConnection {
  let received = '';
  let answered = 0;
  const waiting = new Set<() => void>();
  const connection: TestConnection = {
    socket,
    received: () => received,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(received)) {
            waiting.delete(look);
            resolve(received);
          } else if (socket.destroyed) reject(new Error(`closed before ${String(pattern)} came: ${received}`));
        };
        waiting.add(look);
        look();
      }),
    closed: new Promise((resolve) => socket.on('close', () => resolve())),
  };
  socket.on('error', ignore);
  socket.on('close', () => {
    for (const look of waiting) look();
  });
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    for (const look of waiting) look();
    if (answer === undefined) return;
    let end = received.indexOf('\r\n\r\n', answered);
    while (end >= 0) {
      const head = received.slice(answered, end + 4);
      answered = end + 4;
      if (/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(head)) answer(head, socket, connection);
      end = received.indexOf('\r\n\r\n', answered);
    }
  });
  return connection;
}

/** What the handler of a call has received until the call ended. */
export interface Outcome {
  readonly events: readonly string[];
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
  readonly error: GatewayError | undefined;
  readonly reused: readonly boolean[];
}

/**
 * Makes a handler that records its calls; `done` resolves when the call ends. @param extra callbacks that are called
 * too
 */
export function recordingHandler(extra: Partial<ResponseHandler> = {}): {
  readonly handler: ResponseHandler;
  readonly done: Promise<Outcome>;
} {
  const events: string[] = [];
  const reused: boolean[] = [];
  const body: Buffer[] = [];
  let status = 0;
  let headers: RawHeaders = [];
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const finish = (error: GatewayError | undefined): void => {
    resolve({ events, status, headers, body: Buffer.concat(body).toString('latin1'), error, reused });
  };
  const handler: ResponseHandler = {
    onSent(wasReused) {
      events.push('sent');
      reused.push(wasReused);
      extra.onSent?.(wasReused);
    },
    onHeaders(received, raw) {
      events.push('headers');
      status = received;
      headers = raw;
      extra.onHeaders?.(received, raw);
    },
    onData(chunk) {
      if (events.at(-1) !== 'data') events.push('data');
      body.push(Buffer.from(chunk));
      extra.onData?.(chunk);
    },
    onEnd() {
      events.push('end');
      extra.onEnd?.();
      finish(undefined);
    },
    onError(error, afterHeaders) {
      events.push(afterHeaders ? 'error after headers' : 'error');
      extra.onError?.(error, afterHeaders);
      finish(error);
    },
    onDrain() {
      extra.onDrain?.();
    },
  };
  return { handler, done: promise };
}

/** Makes a GET request without a body; `change` replaces some of its fields. */
export function getRequest(target = '/', change: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return { method: 'GET', target, headers: ['Host', 'member'], body: 'none', longRunning: false, ...change };
}

/** Makes transport options for a fake member; with `ca`, connections use TLS. */
export function memberOptions(
  member: { readonly port: number },
  change: Partial<TransportOptions> = {},
  ca?: string,
): TransportOptions {
  return {
    clusterName: 'm1',
    endpoint: { scheme: ca === undefined ? 'http' : 'https', host: '127.0.0.1', port: member.port, basePath: '' },
    tls: { ca, serverName: undefined, insecure: false },
    proxy: undefined,
    clientCertificate: undefined,
    ...change,
  };
}

/** The text of an HTTP/1.1 answer with this body and a Content-Length. */
export function response(body: string, head = 'HTTP/1.1 200 OK'): string {
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
}

function ignore(): void {}
