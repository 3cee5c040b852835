// A TCP line, to a database for example, that a test makes slow, cuts, or leads to another server.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Line {
  /** On 127.0.0.1. */
  readonly port: number;
  /** Where connections go that are opened from now on. */
  lead(toPort: number): void;
  /** Ends all connections, and refuses new ones until `open`. */
  cut(): void;
  open(): void;
  /** What comes back arrives so much later, milliseconds. */
  slow(byMs: number): void;
  close(): void;
}

/** Listens on a port of its own and passes on to `toPort` of 127.0.0.1. */
export async function startLine(toPort: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let target = toPort;
  let isCut = false;
  let lateMs = 0;
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => (sockets.delete(socket), other.destroy()));
  };
  const server = createServer((front) => {
    if (isCut) {
      front.resetAndDestroy();
      return;
    }
    const back = connect(target, '127.0.0.1');
    keep(front, back);
    keep(back, front);
    front.pipe(back);
    back.on('data', (chunk: Buffer) => {
      if (lateMs === 0) front.write(chunk);
      else setTimeout(() => void (front.writable && front.write(chunk)), lateMs);
    });
  });
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lead: (port) => void (target = port),
    cut() {
      isCut = true;
      cutAll();
    },
    open: () => void (isCut = false),
    slow: (byMs) => void (lateMs = byMs),
    close() {
      isCut = true;
      cutAll();
      server.close();
    },
  };
}
