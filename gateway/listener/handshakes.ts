// Limits how many bytes clients may send during TLS handshakes: OpenSSL keeps a handshake message in memory until it is
// complete, and one message may have 128 KiB. Easy to get wrong: a connection has two objects, its TCP socket and its
// TLS socket, and only the client's address and port show which two belong together.
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import type { ClientHoldings, Holding } from '../../http/client-holdings.ts';

const lookEveryMs = 250;

/**
 * Counts the TLS handshakes that are in progress, and the bytes that each holds in memory, until the connection is
 * established.
 * @returns a function that stops the counting
 */
export function followHandshakes(tls: Server, holdings: Pick<ClientHoldings, 'open'>): () => void {
  const underWay = new Map<string, { readonly socket: Socket; readonly holding: Holding }>();
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  const over = (key: string): void => {
    underWay.get(key)?.holding.end();
    underWay.delete(key);
  };
  tls.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    over(key);
    underWay.set(key, { socket, holding: holdings.open(undefined, () => (over(key), void socket.destroy())) });
    socket.once('close', () => {
      if (underWay.get(key)?.socket === socket) over(key);
    });
  });
  tls.prependListener('secureConnection', (socket: TLSSocket) => over(keyOf(socket)));
  const looking = setInterval(() => {
    for (const { socket, holding } of underWay.values()) holding.hold(socket.bytesRead);
  }, lookEveryMs).unref();
  return () => clearInterval(looking);
}
