// Bounds the connections of clients, together and from one address, before the handshake, which costs most of a flood.
// A load balancer or a hub is one address for all its users, so the bound of one address must be large.
import type { Server } from 'node:tls';
import type { Socket } from 'node:net';
import { addressKey } from './address-share.ts';

/** See the file comment. */
export interface ConnectionBounds {
  readonly total: number;
  readonly perAddress: number;
}

/** Counts of connections. */
export interface BoundConnections {
  /** Open now, handshakes included. */
  readonly open: number;
  /** Closed before the handshake, so far. */
  readonly dropped: number;
}

/** Puts the bounds before a server's own handling of connections; a connection beyond them is closed without a byte. */
export function boundConnections(server: Server, { total, perAddress }: ConnectionBounds): BoundConnections {
  const byAddress = new Map<string, number>();
  const counts = { open: 0, dropped: 0 };
  // node:tls starts the handshake in its own listener, even for a socket that another listener destroyed before.
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
