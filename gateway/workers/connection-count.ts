// Counts the open connections of one worker, and reports how many have closed, at most once in each iteration of the
// event loop.
import type { Socket } from 'node:net';

/** The open connections of one worker. */
export interface ConnectionCount {
  add(socket: Socket): void;
  /** Resolves when no connection is open. */
  whenNone(): Promise<void>;
}

/**
 * Counts connections from now on.
 * @param onClosed called with the number of connections that have closed, once for each iteration of the event loop in
 * which some have
 */
export function countConnections(onClosed: (closed: number) => void): ConnectionCount {
  const open = new Set<Socket>();
  let closed = 0;
  let waiting: (() => void)[] = [];
  return {
    add(socket) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        open.delete(socket);
        if (closed === 0)
          setImmediate(() => {
            onClosed(closed);
            closed = 0;
          });
        closed += 1;
        if (open.size > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      });
    },
    whenNone: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
