// One end-to-end run at a time on this machine: two of them starve each other, and choose the same ports. The lock is a
// port that a process listens on, which the kernel frees however that process ends.
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Below the ports that tests choose from (test/controlplane/processes.ts). */
const lockPort = 19_999;
const askAgainMs = 1_000;

/**
 * Waits until no other process of this machine holds the lock, and holds it until `close` or the end of the process.
 */
export async function takeMachineLock(
  port: number = lockPort,
  wait: () => Promise<unknown> = () => delay(askAgainMs),
): Promise<{ close(): void }> {
  for (let isTold = false; ; isTold = true) {
    const server = await tryToListen(port);
    if (server !== undefined) return server;
    if (!isTold) console.log(`another end-to-end run holds 127.0.0.1:${port}; waiting for its end`);
    await wait();
  }
}

function tryToListen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server.unref()));
  });
}
