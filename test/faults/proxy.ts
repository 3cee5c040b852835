// The fault proxy: TCP between a gateway and one member, where a test says what the line does. TLS goes through
// untouched, so the member's certificate must be for 127.0.0.1. It acknowledges what it swallows, so a line that loses
// packets needs a network namespace (network.e2e.ts).
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** `open`: bytes pass. `cut`: connections are reset, new ones as well. `silent`: what comes is swallowed, both ways. */
export type LineMode = 'open' | 'cut' | 'silent';

/** How a line that breaks off after some bytes is broken off. */
export type Break = 'fin' | 'rst';

export interface FaultProxy {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  set(mode: LineMode): void;
  /** Breaks every connection off once it brought this many more bytes of the member; undefined ends that. */
  breakAfter(bytes: number | undefined, how?: Break): void;
  /** Connections open now. */
  readonly connections: number;
  /** Connections taken so far. */
  readonly taken: number;
  /** Connections reset as soon as they came, while the line was cut. */
  readonly refused: number;
  /** Bytes of the member passed on so far. */
  readonly bytes: number;
  close(): void;
}

interface Line {
  readonly front: Socket;
  readonly back: Socket;
  left: number;
}

/** Listens on a port of its own and passes on to the member's port. */
export async function startFaultProxy(port: number): Promise<FaultProxy> {
  const lines = new Set<Line>();
  let mode: LineMode = 'open';
  let breaking: { readonly bytes: number; readonly how: Break } | undefined;
  let taken = 0;
  let refused = 0;
  let bytes = 0;
  const server = createServer((front) => {
    front.on('error', () => undefined);
    if (mode === 'cut') {
      refused++;
      front.resetAndDestroy();
      return;
    }
    taken++;
    const back = connect({ port, host: '127.0.0.1', noDelay: true });
    const line: Line = { front, back, left: breaking?.bytes ?? Number.POSITIVE_INFINITY };
    lines.add(line);
    back.on('error', () => front.resetAndDestroy());
    front.on('data', (chunk: Buffer) => {
      if (mode === 'open' && !back.write(chunk)) pauseUntilDrained(front, back);
    });
    back.on('data', (chunk: Buffer) => {
      if (mode !== 'open') return;
      const passed = chunk.length <= line.left ? chunk : chunk.subarray(0, line.left);
      line.left -= passed.length;
      bytes += passed.length;
      const isTaken = front.write(passed);
      if (line.left > 0) {
        if (!isTaken) pauseUntilDrained(back, front);
        return;
      }
      back.destroy();
      if (breaking?.how === 'rst') front.resetAndDestroy();
      else front.end();
    });
    front.on('end', () => back.end());
    back.on('end', () => front.end());
    front.once('close', () => {
      lines.delete(line);
      back.destroy();
    });
    back.once('close', () => {
      if (line.left > 0 && mode !== 'silent') front.destroySoon();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set(next) {
      mode = next;
      if (mode === 'cut') for (const { front } of lines) front.resetAndDestroy();
    },
    breakAfter(count, how = 'fin') {
      breaking = count === undefined ? undefined : { bytes: count, how };
      for (const line of lines) line.left = count ?? Number.POSITIVE_INFINITY;
    },
    get connections() {
      return lines.size;
    },
    get taken() {
      return taken;
    },
    get refused() {
      return refused;
    },
    get bytes() {
      return bytes;
    },
    close() {
      server.close();
      for (const { front } of lines) front.destroy();
    },
  };
}

function pauseUntilDrained(from: Socket, to: Socket): void {
  from.pause();
  to.once('drain', () => from.resume());
}
