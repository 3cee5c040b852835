// A byte stream inside binary WebSocket messages. `SPDY/3.1+portforward.k8s.io` transports SPDY in it (KEP-4006).
// Message boundaries have no meaning: Go's SPDY framer sends each field of a frame as its own message.
import { Duplex } from 'node:stream';
import { closeCodes } from './websocket-frames.ts';
import { WebSocketConnection, type WebSocketOptions } from './websocket-connection.ts';

/**
 * Makes the tunnel. After that, only the tunnel may use the socket. Ending it sends close code 1000. A text message
 * from the peer closes it.
 */
export function createTunnel(socket: Duplex, options: WebSocketOptions): Duplex {
  let isOver = false;
  const tunnel = new Duplex({
    allowHalfOpen: true,
    read: () => connection.resume(),
    write: (chunk: Buffer, _encoding, done) => void connection.send(chunk, () => done()),
    final: (done) => {
      connection.close();
      done();
    },
    destroy: (_error, done) => {
      if (!isOver) connection.destroy();
      done(null);
    },
  });
  const connection = new WebSocketConnection(
    socket,
    {
      onMessage: (data, isText) => {
        if (isText) connection.close(closeCodes.protocolError, 'a tunnel carries binary messages only');
        else if (!isOver && !tunnel.push(data)) connection.pause();
      },
      onClose: () => {
        isOver = true;
        tunnel.push(null);
      },
    },
    options,
  );
  return tunnel;
}
