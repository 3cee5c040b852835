// The Kubernetes listener: one TLS port for HTTP/1.1 and HTTP/2, chosen by ALPN. A connection without ALPN is HTTP/1.1;
// kubectl exec connects in this way. A TLS handshake may take a limited time. A regular check of all
// connections closes those that are idle and those whose request head stays incomplete.
import { createServer as createTlsServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { boundConnections } from '../limits/connection-bounds.ts';
import type { BoundConnections, ConnectionBounds } from '../limits/connection-bounds.ts';
import { unboundedHoldings } from '../../http/client-holdings.ts';
import type { ClientHoldings } from '../../http/client-holdings.ts';
import type { Arrival, Peer } from '../../http/arrival.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import { faultError, statusResponse } from '../../request/answer/status.ts';
import { listenAt } from './listen.ts';
import { followHandshakes } from './handshakes.ts';
import { Http1Connection } from '../../http/http1/http1-connection.ts';
import type { Http1Listener } from '../../http/http1/http1-connection.ts';
import { Http2Connection } from '../../http/http2/http2-connection.ts';
import type { Http2Listener } from '../../http/http2/http2-connection.ts';
import { clientLostMs } from '../../http/http2/http2-liveness.ts';
import { makeOutputTurn } from '../../http/http2/http2-output.ts';

/** Certificate and key of the listener, and the CA for client certificates. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CAs for client certificates; undefined when clients are not asked for one. */
  readonly clientCa: string | undefined;
}

/** The running listener for clients. */
export interface Listener {
  /** `https://HOST:PORT`, with the port that was opened. */
  readonly url: string;
  readonly port: number;
  readonly connections: BoundConnections;
  /** Uses new certificates for new connections; open connections keep theirs. */
  setTls(material: TlsMaterial): void;
  /**
   * Stops accepting connections, closes idle ones and tells clients to send no new requests. Running requests go on.
   * Resolves when the last connection is closed, so that every answer has been sent.
   */
  drain(): Promise<void>;
  /** Destroys every connection. */
  close(): void;
}

/** Gives a server connections that another process has accepted, in place of a listening socket of its own. */
export interface ConnectionGiver {
  /** Begins to give connections to `tls`. Resolves with the port that clients connect to. */
  open(tls: Server, at: HostPort): Promise<number>;
  /** Resolves when all connections that were given are closed. */
  whenNone(): Promise<void>;
}

/**
 * Milliseconds between two checks for connections to close, because they are idle or their request head stays
 * incomplete.
 */
const sweepIntervalMs = 1_000;
const handshakeTimeoutMs = 10_000;

/** Options of a listener. */
export interface ListenerOptions {
  /** An HTTP/1.1 client that has read nothing of its answer for this many milliseconds counts as gone. */
  readonly lostMs?: number | undefined;
  readonly bounds?: ConnectionBounds | undefined;
  readonly giver?: ConnectionGiver | undefined;
  /** Limits how much memory clients can occupy. */
  readonly holdings?: ClientHoldings | undefined;
}

/**
 * Opens the listener.
 * @param arrive called for every request; must not throw
 * @throws Error (rejects) with the system's error code (EADDRINUSE, EACCES, …) when the address cannot be used
 */
export async function startListener(
  at: HostPort,
  material: TlsMaterial,
  arrive: (arrival: Arrival) => void,
  options: ListenerOptions = {},
): Promise<Listener> {
  const { giver } = options;
  const server = new TlsServer(material, arrive, options);
  return server.opened(at.host, await (giver === undefined ? listenAt(server.tls, at) : giver.open(server.tls, at)));
}

class TlsServer {
  readonly tls: Server;
  readonly #connections: BoundConnections;
  readonly #sockets = new Set<TLSSocket>();
  readonly #http1Connections = new Set<Http1Connection>();
  readonly #http2Connections = new Set<Http2Connection>();
  readonly #http1: Http1Listener;
  readonly #http2: Http2Listener;
  readonly #sweeping: NodeJS.Timeout;
  readonly #endHandshakes: () => void;
  readonly #giver: ConnectionGiver | undefined;
  #draining = false;

  constructor(material: TlsMaterial, arrive: (arrival: Arrival) => void, options: ListenerOptions) {
    const { lostMs = clientLostMs, holdings = unboundedHoldings() } = options;
    this.#giver = options.giver;
    const { bounds = { total: Infinity, perAddress: Infinity } } = options;
    this.#http1 = {
      arrive,
      refusal: (fault) => statusResponse(faultError(fault), ''),
      draining: () => this.#draining,
      lostMs,
      holdings,
      onReleased: (connection) => this.#http1Connections.delete(connection),
    };
    this.#http2 = {
      arrive,
      turn: makeOutputTurn(),
      holdings,
      onReleased: (connection) => this.#http2Connections.delete(connection),
    };
    // One regular check of all connections costs less than a timer for each connection.
    this.#sweeping = setInterval(() => this.#sweep(), sweepIntervalMs).unref();
    this.tls = createServerFor(material);
    this.#endHandshakes = followHandshakes(this.tls, holdings);
    this.#connections = boundConnections(this.tls, bounds);
    this.tls.on('secureConnection', (socket: TLSSocket) => this.#serve(socket));
    this.tls.on('tlsClientError', (_error, socket) => socket.destroy());
    this.tls.on('drop', () => undefined);
  }

  opened(host: string, port: number): Listener {
    return {
      url: `https://${formatHostPort({ host, port })}`,
      port,
      connections: this.#connections,
      setTls: (next) => this.tls.setSecureContext(secure(next)),
      drain: () => this.#drain(),
      close: () => this.#close(),
    };
  }

  #serve(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    if (socket.alpnProtocol === 'h2') {
      const connection = new Http2Connection(socket, peerOf(socket), this.#http2);
      this.#http2Connections.add(connection);
      if (this.#draining) connection.drain();
    } else {
      const connection = new Http1Connection(socket, peerOf(socket), this.#http1);
      this.#http1Connections.add(connection);
      if (this.#draining) connection.closeIdle();
    }
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const connection of this.#http1Connections) connection.sweep(nowMs);
    for (const connection of this.#http2Connections) connection.sweep(nowMs);
  }

  #drain(): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.tls.close(() => resolve()));
    // When another process accepts the connections, this server has no listening socket. Then its `close` callback
    // comes at once, also while connections are open.
    const stopped = this.#giver === undefined ? closed : this.#giver.whenNone();
    for (const connection of this.#http1Connections) connection.closeIdle();
    for (const connection of this.#http2Connections) connection.drain();
    return stopped;
  }

  #close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.tls.close();
    clearInterval(this.#sweeping);
    this.#endHandshakes();
  }
}

function createServerFor(material: TlsMaterial): Server {
  return createTlsServer({
    ...secure(material),
    requestCert: material.clientCa !== undefined,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: handshakeTimeoutMs,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  });
}

function secure({ cert, key, clientCa }: TlsMaterial): {
  cert: string;
  key: string;
  ca?: string;
  minVersion: 'TLSv1.2';
} {
  return { cert, key, minVersion: 'TLSv1.2', ...(clientCa === undefined ? {} : { ca: clientCa }) };
}

function peerOf(socket: TLSSocket): Peer {
  const certificates: Uint8Array[] = [];
  const seen = new Set<object>();
  let certificate: ReturnType<TLSSocket['getPeerCertificate']> | undefined = socket.getPeerCertificate(true);
  while (certificate?.raw !== undefined && !seen.has(certificate) && certificates.length < 10) {
    seen.add(certificate);
    certificates.push(new Uint8Array(certificate.raw));
    certificate = (certificate as { issuerCertificate?: typeof certificate }).issuerCertificate;
  }
  const { servername } = socket as { servername?: string | false | null };
  return {
    address: socket.remoteAddress ?? '',
    serverName: typeof servername === 'string' ? servername : '',
    certificates,
    tlsAuthorized: socket.authorized,
  };
}
