// A listening socket of a gateway with workers: the first process accepts, and hands each connection unread to the
// worker with the fewest. The socket stays open while workers come and go; a connection for which there is no worker
// waits for the next one, for a bounded time.
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { HostPort } from '../../lib/text/host-port.ts';
import { listenAt } from '../start/listen.ts';

/** The listening socket. */
export interface Handover {
  /** As bound. */
  readonly port: number;
  /** A worker is ready: hands over the connections that wait. */
  flush(): void;
  /** Hands over a connection that did not reach its worker. */
  giveAgain(socket: Socket): void;
  /** Accepts no more; what waits is closed. */
  close(): void;
}

/** Where connections go. */
export interface HandoverOptions {
  /** Takes the connection; undefined when no worker is ready. */
  readonly taker: () => ((socket: Socket) => void) | undefined;
  /** Connections that may wait. */
  readonly maxWaiting: number;
  readonly waitMs?: number;
}

/** As long as a worker waits for a handshake. */
const defaultWaitMs = 10_000;

/** Opens the socket. @throws Error with the system's code when the address cannot be had */
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
