// Counts the connections of one worker and reports those that closed, all of one turn together.
import type { Socket } from 'node:net';

/** The open connections of one worker. */
export interface ConnectionCount {
  add(socket: Socket): void;
  /** Resolves when no connection is open. */
  whenNone(): Promise<void>;
}

/** @param onClosed is called once a turn with the number of connections that closed in it */
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
