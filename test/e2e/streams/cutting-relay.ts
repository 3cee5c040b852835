// A TCP relay that cuts connections after a random number of bytes of the answer, as often as told, and is a plain line
// from then on. The numbers come from a seed, but what is in those bytes does not, so a failure is repeated by its seed
// only nearly.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createRandom } from '../../../bench/figures/statistics.ts';

export interface CuttingRelay {
  readonly port: number;
  /** Connections cut until now. */
  readonly cuts: number;
  close(): void;
}

/**
 * Listens on a port of its own and passes on to `port`; each of the first `cuts` connections ends within `mostBytes` of
 * what comes back.
 */
export async function startCuttingRelay(
  port: number,
  options: { readonly seed: number; readonly cuts: number; readonly mostBytes: number },
): Promise<CuttingRelay> {
  const random = createRandom(options.seed);
  const open = new Set<Socket>();
  let cuts = 0;
  let planned = 0;
  const server = createServer((front) => {
    const back = connect(port, '127.0.0.1');
    open.add(front).add(back);
    const willCut = planned < options.cuts;
    if (willCut) planned += 1;
    // One in eight within the TLS handshake.
    let left = Math.floor(random() * (random() < 0.125 ? 2_000 : options.mostBytes));
    const isReset = random() < 0.5;
    front.on('error', () => undefined);
    back.on('error', () => front.destroy());
    let isCut = false;
    for (const [from, to] of [
      [front, back],
      [back, front],
    ] as const) {
      from.once('close', () => {
        open.delete(from);
        if (!isCut) to.destroy();
      });
      from.on('end', () => to.end());
    }
    front.on('data', (chunk: Buffer) => void back.write(chunk));
    back.on('data', (chunk: Buffer) => {
      if (isCut) return;
      if (!willCut || chunk.length <= left) {
        left -= chunk.length;
        front.write(chunk);
        return;
      }
      isCut = true;
      cuts += 1;
      back.destroy();
      front.write(chunk.subarray(0, left), () => (isReset ? front.resetAndDestroy() : front.destroy()));
    });
    // A client that gives up before the cut leaves it to another connection.
    front.once('close', () => {
      if (willCut && !isCut) planned -= 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
