// The Kubernetes listener: one TLS port, HTTP/1.1 and HTTP/2 by ALPN, no ALPN means HTTP/1.1 (kubectl exec dials so).
// Easy to get wrong: what waits for a client (idle connections, unfinished heads) must end by itself; one sweep over
// all connections costs less than timers.
import { createServer as createTlsServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { boundConnections } from '../limits/connection-bounds.ts';
import type { BoundConnections, ConnectionBounds } from '../limits/connection-bounds.ts';
import { unboundedHoldings } from '../../http/client-holdings.ts';
import type { ClientHoldings } from '../../http/client-holdings.ts';
import type { Arrival, Peer } from '../../http/arrival.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import { faultError, statusResponse } from '../status.ts';
import { listenAt } from './listen.ts';
import { followHandshakes } from './handshakes.ts';
import { Http1Connection } from '../../http/http1/http1-connection.ts';
import type { Http1Listener } from '../../http/http1/http1-connection.ts';
import { Http2Connection } from '../../http/http2/http2-connection.ts';
import type { Http2Listener } from '../../http/http2/http2-connection.ts';
import { clientLostMs } from '../../http/http2/http2-liveness.ts';
import { makeOutputTurn } from '../../http/http2/http2-output.ts';

/** What the listener proves itself with, and whose client certificates it asks for. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CA for client certificates; undefined asks for none. */
  readonly clientCa: string | undefined;
}

/** A running listener. */
export interface Listener {
  /** `https://HOST:PORT` as bound. */
  readonly url: string;
  readonly port: number;
  readonly connections: BoundConnections;
  /** Replaces certificates; open connections keep theirs. */
  setTls(material: TlsMaterial): void;
  /**
   * Stops accepting, closes idle connections, and asks clients to open no more streams; requests under way go on.
   * Resolves when the last connection is closed, so everything that was answered has left.
   */
  drain(): Promise<void>;
  /** Destroys every connection. */
  close(): void;
}

/** How a server gets its connections; resolves with the port clients see. By itself it listens. */
export type OpenServer = (tls: Server, at: HostPort) => Promise<number>;

/** How often connections are looked at whose client sends nothing. */
const sweepIntervalMs = 1_000;
const handshakeTimeoutMs = 10_000;

/**
 * Opens the listener.
 * @param arrive called for every request; must not throw
 * @param lostMs how long a client of HTTP/1.1 may take nothing of what waits for it
 * @param holdings what clients may make it hold
 * @throws Error with the system's code (EADDRINUSE, EACCES, …) when the address cannot be had
 */
export async function startListener(
  at: HostPort,
  material: TlsMaterial,
  arrive: (arrival: Arrival) => void,
  lostMs: number = clientLostMs,
  bounds: ConnectionBounds = { total: Infinity, perAddress: Infinity },
  openServer: OpenServer = listenAt,
  holdings: ClientHoldings = unboundedHoldings(),
): Promise<Listener> {
  const sockets = new Set<TLSSocket>();
  let draining = false;

  const http1Connections = new Set<Http1Connection>();
  const http1: Http1Listener = {
    arrive,
    refusal: (fault) => statusResponse(faultError(fault), ''),
    draining: () => draining,
    lostMs,
    holdings,
    onReleased: (connection) => http1Connections.delete(connection),
  };
  const http2Connections = new Set<Http2Connection>();
  const http2: Http2Listener = {
    arrive,
    turn: makeOutputTurn(),
    holdings,
    onReleased: (connection) => http2Connections.delete(connection),
  };
  const sweeping = setInterval(() => {
    const nowMs = performance.now();
    for (const connection of http1Connections) connection.sweep(nowMs);
    for (const connection of http2Connections) connection.sweep(nowMs);
  }, sweepIntervalMs).unref();

  const tls = createTlsServer({
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
  const endHandshakes = followHandshakes(tls, holdings);
  const connections = boundConnections(tls, bounds);
  tls.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    if (socket.alpnProtocol === 'h2') {
      const connection = new Http2Connection(socket, peerOf(socket), http2);
      http2Connections.add(connection);
      if (draining) connection.drain();
    } else {
      const connection = new Http1Connection(socket, peerOf(socket), http1);
      http1Connections.add(connection);
      if (draining) connection.closeIdle();
    }
  });
  tls.on('tlsClientError', (_error, socket) => socket.destroy());
  tls.on('drop', () => undefined);

  const port = await openServer(tls, at);
  return {
    url: `https://${formatHostPort({ host: at.host, port })}`,
    port,
    connections,
    setTls: (next) => tls.setSecureContext(secure(next)),
    drain() {
      draining = true;
      const stopped = new Promise<void>((resolve) => tls.close(() => resolve()));
      for (const connection of http1Connections) connection.closeIdle();
      for (const connection of http2Connections) connection.drain();
      return stopped;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      tls.close();
      clearInterval(sweeping);
      endHandshakes();
    },
  };
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
