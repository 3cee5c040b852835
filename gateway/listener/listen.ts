// Opens a listening socket. An error while the socket is opened is thrown; later errors of the socket are ignored.
import type { AddressInfo, Server } from 'node:net';
import type { HostPort } from '../../lib/text/host-port.ts';

/**
 * Begins to listen; resolves with the port that was opened.
 * @throws Error (rejects) with the system's error code when the address cannot be used
 */
export async function listenAt(server: Server, at: HostPort): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      server.removeListener('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
