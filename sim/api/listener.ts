// The TLS port of the simulated API server. ALPN chooses HTTP/2 or HTTP/1.1; a client without ALPN gets HTTP/1.1. All
// connections are tracked, because closing an http server does not close TLS sockets that were handed to it.
import {
  createServer as createHttp1,
  type IncomingMessage,
  type Server as Http1Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttp2, type Http2Server } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTls, type Server as TlsServer, type TLSSocket } from 'node:tls';
import type { KeyPair } from '../access/tls.ts';

/** Maximum number of bytes of a request's headers; a request with more is refused. */
const headerBytesLimit = 1024 * 1024;

/** The address, certificates and handlers of a listener. */
export interface ListenerOptions {
  readonly host: string;
  /** The port to listen on; 0 for any free port. */
  readonly port: number;
  readonly http2: boolean;
  readonly keyPair: KeyPair;
  readonly caPem: string;
  /** Called for each request. HTTP/2 requests arrive here, too, through Node's compatibility API. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Whether a request with an Upgrade header is given to `onUpgrade`. When false, the Upgrade header is ignored, as
   * Go's net/http does, and the request is given to `onRequest`.
   */
  readonly isUpgrade: (request: IncomingMessage) => boolean;
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** A listener that is running. */
export interface Listener {
  readonly port: number;
  /** Stops listening and destroys all connections; `resume` listens again at the same port. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Stops listening and destroys all connections for good. */
  close(): Promise<void>;
}

/** Starts listening. Rejects when the port is in use. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const sockets = new Set<Socket>();
  const http1 = makeHttp1(options);
  const http2 = makeHttp2(options);
  const tls = makeTls(options, sockets);
  tls.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => {});
    (socket.alpnProtocol === 'h2' ? http2 : http1).emit('connection', socket);
  });

  const open = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      tls.once('error', reject);
      tls.listen(at, options.host, resolve);
    });
  const pause = async (): Promise<void> => {
    if (!tls.listening) return;
    const closed = new Promise((resolve) => tls.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await open(options.port);
  const { port } = tls.address() as AddressInfo;
  return {
    port,
    pause,
    resume: () => open(port),
    async close() {
      await pause();
      http1.close();
      http1.closeAllConnections();
      http2.close();
    },
  };
}

function makeHttp1(options: ListenerOptions): Http1Server {
  const http1 = createHttp1({
    maxHeaderSize: headerBytesLimit,
    requestTimeout: 0,
    headersTimeout: 60_000,
    keepAliveTimeout: 90_000,
    shouldUpgradeCallback: options.isUpgrade,
  });
  http1.maxHeadersCount = 0;
  http1.timeout = 0;
  http1.on('request', options.onRequest);
  http1.on('upgrade', options.onUpgrade);
  http1.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    else socket.destroy();
  });
  return http1;
}

function makeHttp2(options: ListenerOptions): Http2Server {
  const http2 = createHttp2({
    maxHeaderListPairs: 20_000,
    maxSendHeaderBlockLength: headerBytesLimit,
    settings: { maxConcurrentStreams: 100, maxHeaderListSize: headerBytesLimit, initialWindowSize: 256 * 1024 },
  });
  http2.on('request', (request, response) =>
    options.onRequest(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  http2.on('sessionError', () => {});
  http2.on('session', (session) => session.on('error', () => {}));
  return http2;
}

/** Makes the TLS server. All open connections are added to `sockets`. */
function makeTls(options: ListenerOptions, sockets: Set<Socket>): TlsServer {
  const tls = createTls({
    cert: options.keyPair.certPem,
    key: options.keyPair.keyPem,
    ca: options.caPem,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: options.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  tls.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  tls.on('tlsClientError', (_error, socket) => socket.destroy());
  return tls;
}
