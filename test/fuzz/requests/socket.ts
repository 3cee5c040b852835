// Connections of the request fuzzer. An address that failed to log in a hundred times is held back, so cases come from
// many addresses of the loopback network.
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { trusting } from '../../site/raw-client.ts';
import type { Endpoint } from '../../site/raw-client.ts';

/** Whatever is not there after this is missing; no request of a case needs more than a few milliseconds. */
export const dueMs = 4_000;

let opened = 0;

/** Opens a connection. */
export async function openSocket(endpoint: Endpoint, protocol: 'h2' | 'http/1.1'): Promise<TLSSocket> {
  opened += 1;
  const socket = connect({
    host: '127.0.0.1',
    port: endpoint.port,
    localAddress: `127.1.${(opened >> 8) & 0xff}.${1 + (opened % 250)}`,
    secureContext: trusting(endpoint),
    ALPNProtocols: [protocol],
  } as ConnectionOptions);
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}
