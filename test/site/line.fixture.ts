// A TCP line, to a database for example, that a test makes slow, cuts, or leads to another server.
import { connect, createServer } from 'node:net';
import { serve } from '../pretend/server.ts';

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
  let target = toPort;
  let isCut = false;
  let lateMs = 0;
  const server = createServer((front) => {
    if (isCut) {
      front.resetAndDestroy();
      return;
    }
    const back = connect(target, '127.0.0.1');
    front.once('close', () => back.destroy());
    back.on('error', () => undefined).once('close', () => front.destroy());
    front.pipe(back);
    back.on('data', (chunk: Buffer) => {
      if (lateMs === 0) front.write(chunk);
      else setTimeout(() => void (front.writable && front.write(chunk)), lateMs);
    });
  });
  const { port, closeClientConnections, close } = await serve(server);
  return {
    port,
    lead: (port) => void (target = port),
    cut() {
      isCut = true;
      closeClientConnections();
    },
    open: () => void (isCut = false),
    slow: (byMs) => void (lateMs = byMs),
    close: () => void close(),
  };
}
