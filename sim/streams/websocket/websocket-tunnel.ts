// A byte stream inside WebSocket binary messages: what `SPDY/3.1+portforward.k8s.io` runs SPDY on (KEP-4006).
// Message borders mean nothing here: Go's SPDY framer writes every field of a frame as a message of its own.
import { Duplex } from 'node:stream';
import { closeCodes } from './websocket-frames.ts';
import { WebSocketConnection, type WebSocketOptions } from './websocket-connection.ts';

/** Makes the tunnel; it owns the socket. Ending it sends close code 1000, a text message breaks it off. */
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
