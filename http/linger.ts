// Closes a connection after an answer that came before the request was read whole. Closing while bytes of the client
// are unread makes the kernel send a reset, which overtakes the answer; so what still comes is read and dropped, within
// bounds.
import type { Duplex } from 'node:stream';

/** How much is dropped, and for how long, before the connection is closed all the same. */
export const lingerBytes = 16 * 1024 * 1024;
export const lingerMs = 5_000;

/**
 * Sends the last bytes on a bare socket that has no other reader, then drops what the client still sends until it is
 * done.
 */
export function endLingering(socket: Duplex, lastBytes?: Buffer): void {
  let dropped = 0;
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > lingerBytes) socket.destroy();
  });
  socket.once('end', () => {
    if (socket.writableFinished) socket.destroy();
    else socket.once('finish', () => socket.destroy());
  });
  socket.resume();
  if (lastBytes === undefined) socket.end();
  else socket.end(lastBytes);
}
