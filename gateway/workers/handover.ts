// A listening socket of a gateway with workers. The first process accepts each connection and hands it to the worker
// with the fewest connections, before any byte is read. The socket stays open while workers are replaced: when no
// worker is ready, a connection waits for the next one, for a limited time.
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { HostPort } from '../../lib/text/host-port.ts';
import { listenAt } from '../listener/listen.ts';

/** A listening socket whose connections are handed to workers. */
export interface Handover {
  /** The port that was bound. */
  readonly port: number;
  /** Call this when a worker has become ready: it hands over the waiting connections. */
  flush(): void;
  /** Hands over, once more, a connection that did not reach its worker. */
  giveAgain(socket: Socket): void;
  /** Stops accepting, and closes the waiting connections. */
  close(): void;
}

/** Options of {@link startHandover}. */
export interface HandoverOptions {
  /** Returns the function that hands a connection to the best worker; undefined when no worker is ready. */
  readonly taker: () => ((socket: Socket) => void) | undefined;
  /** Maximum number of connections that may wait for a worker. Further connections are closed. */
  readonly maxWaiting: number;
  readonly waitMs?: number;
}

/**
 * Milliseconds that a connection waits for a worker before it is closed. Clients have the same time for a TLS
 * handshake.
 */
const defaultWaitMs = 10_000;

/** Opens the listening socket. @throws Error with the system's code when the address cannot be bound */
export async function startHandover(at: HostPort, options: HandoverOptions): Promise<Handover> {
  const { taker, maxWaiting, waitMs = defaultWaitMs } = options;
  const waiting = new Map<Socket, NodeJS.Timeout>();
  let closed = false;
  const give = (socket: Socket): void => {
    const take = closed ? undefined : taker();
    if (take !== undefined) {
      take(socket);
      return;
    }
    if (closed || waiting.size >= maxWaiting) {
      socket.destroy();
      return;
    }
    waiting.set(
      socket,
      setTimeout(() => drop(socket), waitMs),
    );
  };
  const server = createServer(
    { pauseOnConnect: true, allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 },
    give,
  );
  const drop = (socket: Socket): void => {
    clearTimeout(waiting.get(socket));
    waiting.delete(socket);
    socket.destroy();
  };
  const port = await listenAt(server, at);
  return {
    port,
    flush() {
      for (const [socket, timer] of waiting) {
        const take = taker();
        if (take === undefined) return;
        clearTimeout(timer);
        waiting.delete(socket);
        take(socket);
      }
    },
    giveAgain: give,
    close() {
      closed = true;
      server.close();
      for (const socket of waiting.keys()) drop(socket);
    },
  };
}
