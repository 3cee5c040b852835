// Checks whether the demo's listen addresses are free, before anything is started. All addresses that are in use are
// reported at once. Otherwise somebody who changes the first address would learn only then that the second is in use
// too.
import { createServer } from 'node:net';
import { Failure } from '../cli/terminal/failure.ts';
import { formatHostPort } from '../lib/text/host-port.ts';
import type { HostPort } from '../lib/text/host-port.ts';
import { listenAt } from '../gateway/listener/listen.ts';

/**
 * Resolves when both addresses are free. Only addresses in use are noticed here; other errors are reported when the
 * gateway opens the address.
 * @throws Failure (rejects) that names the addresses in use and how to choose others
 */
export async function refuseTakenPorts(
  addresses: Readonly<Record<'--listen' | '--ops-listen', HostPort>>,
): Promise<void> {
  const taken: string[] = [];
  for (const [flag, at] of Object.entries(addresses)) {
    if (await isTaken(at)) taken.push(`${formatHostPort(at)} (${flag})`);
  }
  if (taken.length === 0) return;
  throw new Failure(
    `${taken.join(' and ')} ${taken.length === 1 ? 'is' : 'are'} in use by another process, perhaps another demo or gateway`,
    'End that one, or let this demo take free ports with --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0, as in\n' +
      '  npm start -- --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0',
  );
}

async function isTaken(at: HostPort): Promise<boolean> {
  const server = createServer();
  try {
    await listenAt(server, at);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
