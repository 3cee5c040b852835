// A TCP balancer in front of replicas: what a Service is to a hub's aggregator. A connection lives and dies with its
// replica, so that a killed one is seen as a reset, and a replica that refuses is passed over.
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface Balancer {
  readonly port: number;
  /** Ends all connections. */
  cut(): void;
  close(): void;
}

/**
 * Listens on a port of its own and hands connections to the ports in turn; one that refuses leaves its turn to the
 * next.
 * @param ports may change at any time
 * @param firstOf which of so many is tried first; each in turn unless said
 */
export async function startBalancer(ports: readonly number[], firstOf?: (count: number) => number): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const follow = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  let turn = 0;
  const join = (front: Socket, left: number): void => {
    if (left === 0) {
      front.resetAndDestroy();
      return;
    }
    const back = connect(ports[turn++ % ports.length]!, '127.0.0.1');
    follow(back);
    back.once('error', () => join(front, left - 1));
    back.once('connect', () => {
      back.removeAllListeners('error').on('error', () => front.resetAndDestroy());
      back.once('close', () => front.destroy());
      front.once('close', () => back.destroy());
      front.pipe(back);
      back.pipe(front);
    });
  };
  const server = createServer({ allowHalfOpen: true }, (front) => {
    follow(front);
    if (firstOf !== undefined) turn = firstOf(ports.length);
    join(front, ports.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
