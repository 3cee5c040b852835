// A TCP balancer in front of replicas: what a Service is to a hub's aggregator. A connection lives and dies with its
// replica, so that a killed one is seen as a reset, and a replica that refuses is passed over.
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { serve } from '../pretend/server.ts';

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
  let turn = 0;
  const join = (front: Socket, left: number): void => {
    if (left === 0) {
      front.resetAndDestroy();
      return;
    }
    const back = connect(ports[turn++ % ports.length]!, '127.0.0.1');
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
    if (firstOf !== undefined) turn = firstOf(ports.length);
    join(front, ports.length);
  });
  const { port, closeClientConnections, close } = await serve(server);
  return { port, cut: () => closeClientConnections(), close: () => void close() };
}
