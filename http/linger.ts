// Closes a connection after an answer while the client is still sending. If a socket is closed with unread data, the
// kernel sends a TCP reset, which may destroy the answer on its way. So the data is read and dropped, within limits.
import type { Duplex } from 'node:stream';

/** When the client has sent this many bytes more, or after this many milliseconds, the connection is closed anyway. */
export const lingerBytes = 16 * 1024 * 1024;
export const lingerMs = 5_000;

/**
 * Writes `lastBytes` to a socket that nobody reads any more, then drops what the client sends until the client closes.
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
