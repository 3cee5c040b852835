// Limits the number of client connections, in total and from one address. Connections are refused before the TLS
// handshake, which is the most expensive part of a flood of connections. All users behind a load balancer or a hub
// share one address, so the limit for an address must be large.
import type { Server } from 'node:tls';
import type { Socket } from 'node:net';
import { addressKey } from './address-share.ts';

/** Maximum numbers of client connections: in total, and from one address. */
export interface ConnectionBounds {
  readonly total: number;
  readonly perAddress: number;
}

/** Present numbers of client connections. */
export interface BoundConnections {
  /** Connections that are open now, including those in their TLS handshake. */
  readonly open: number;
  /** Connections that were closed before the handshake because of a limit, since the start. */
  readonly dropped: number;
}

/** Limits the connections of a server. A connection beyond the limits is closed before it gets a byte. */
export function boundConnections(server: Server, { total, perAddress }: ConnectionBounds): BoundConnections {
  const byAddress = new Map<string, number>();
  const counts = { open: 0, dropped: 0 };
  // node:tls starts the handshake in its own listener, even for a socket that an earlier listener has destroyed. So the
  // listeners of node:tls are removed here, and called below only for connections within the limits.
  const handlers = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const key = addressKey(socket.remoteAddress ?? '');
    const held = byAddress.get(key) ?? 0;
    if (counts.open >= total || held >= perAddress) {
      counts.dropped += 1;
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    counts.open += 1;
    byAddress.set(key, held + 1);
    socket.once('close', () => {
      counts.open -= 1;
      const left = byAddress.get(key)! - 1;
      if (left === 0) byAddress.delete(key);
      else byAddress.set(key, left);
    });
    for (const handler of handlers) handler.call(server, socket);
  });
  return counts;
}
