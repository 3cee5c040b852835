// Opens a listening socket. A fault of opening it is thrown; a fault of a later connection is ignored.
import type { AddressInfo, Server } from 'node:net';
import type { HostPort } from '../../lib/text/host-port.ts';

/** Resolves with the port. @throws Error (rejects) with the system's code when the address cannot be had */
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
