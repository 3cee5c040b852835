// A TCP relay before a hub, for tests of what a network does to watches. TLS goes through untouched, so the hub's
// certificate must be for the address the relay listens on (127.0.0.1).
import { connect, createServer, type Socket } from 'node:net';
import { serve } from '../pretend/server.ts';

/** `open`: bytes pass. `cut`: connections are reset and refused. `silent`: connections stay open and nothing passes. */
export type RelayMode = 'open' | 'cut' | 'silent';

export interface Relay {
  readonly port: number;
  set(mode: RelayMode): void;
  /** Connections open now. */
  readonly connections: number;
  close(): void;
}

/** Listens on a port of its own and passes on to `port`. */
export async function startRelay(port: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let mode: RelayMode = 'open';
  const server = createServer((front) => {
    if (mode === 'cut') {
      front.resetAndDestroy();
      return;
    }
    const back = connect(port, '127.0.0.1');
    back.on('error', () => front.resetAndDestroy());
    const pair = [front, back] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [back, front] as const]) {
      from.on('data', (chunk: Buffer) => {
        // What comes while it is silent is lost, as on a broken line: such a connection can never be used again.
        if (mode === 'open') to.write(chunk);
      });
      from.on('end', () => to.end());
      from.once('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
  });
  const { port: ownPort, closeClientConnections, close } = await serve(server);
  return {
    port: ownPort,
    set(next) {
      mode = next;
      if (mode === 'cut') closeClientConnections('resetAndDestroy');
    },
    get connections() {
      return pairs.size;
    },
    close: () => void close(),
  };
}
