// Servers of tests on ports of their own, as Go's httptest has them: a test says what is answered, and gets a URL. What
// is read of a connection, and how it ends, is the test's own; that all of them end with the server is done here.
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { ServerOptions } from 'node:https';
import type { AddressInfo, ListenOptions, Server, Socket } from 'node:net';

/** A server that listens on 127.0.0.1. */
export interface TestServer {
  /** 0 where it listens on a Unix socket. */
  readonly port: number;
  /** The connections that are open now; of TLS, those below it. */
  readonly connections: ReadonlySet<Socket>;
  /** Ends every open connection. */
  closeClientConnections(how?: 'destroy' | 'resetAndDestroy'): void;
  /** Ends every open connection and takes no more; resolves when the port is free, also when it was closed before. */
  close(): Promise<void>;
}

/** A server of HTTP/1.1 and what it was asked. */
export interface TestHttpServer extends TestServer {
  readonly url: string;
  /** `METHOD target` of every request so far. */
  readonly requests: string[];
}

/** Answers a request. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Lets any server listen: one of `node:net`, `node:tls`, `node:http` or `node:http2`.
 * @param where by default any free port
 */
export async function serve(server: Server, where: ListenOptions = { port: 0 }): Promise<TestServer> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.on('error', () => undefined).once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host: '127.0.0.1', ...where }, resolve);
  });
  const address = server.address() as AddressInfo | string;
  const closeClientConnections = (how: 'destroy' | 'resetAndDestroy' = 'destroy'): void => {
    for (const socket of connections) socket[how]();
  };
  return {
    port: typeof address === 'string' ? 0 : address.port,
    connections,
    closeClientConnections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        closeClientConnections();
      }),
  };
}

/**
 * Starts a server of HTTP/1.1.
 * @param tls with it, of https
 */
export async function newServer(handler: Handler, tls?: ServerOptions, port = 0): Promise<TestHttpServer> {
  const requests: string[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(`${request.method} ${request.url}`);
    void handler(request, response);
  };
  const server = await serve(tls === undefined ? createHttpServer(handle) : createHttpsServer(tls, handle), { port });
  return { ...server, url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}`, requests };
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with a `metav1.Status`, as kube-apiserver does for errors. */
export function sendStatus(response: ServerResponse, code: number, reason: string, message = reason): void {
  sendJson(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message });
}
