// Hands what a socket reads to its one reader without the buffer of a Readable between them, which costs a look into
// its state, an event and a tick for every piece (a tenth of a request, measured). Easy to get wrong: order. While the
// socket is paused, or something waits in its buffer, pieces go the usual way.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Reads a flowing socket as `socket.on('data', onData)` would. `push` is how a Readable is given what was read (Node's
 * documentation of `_read`), so taking it over changes nothing for whoever pauses, resumes, or waits for `end`. Only
 * sockets of the system push by themselves; other streams are asked for more by what happens behind `push`, so they are
 * read the usual way.
 * @returns what gives the socket back; from then on `onData` is told nothing
 */
export function readDirectly(socket: Duplex, onData: (chunk: Buffer) => void): () => void {
  socket.on('data', onData);
  if (!(socket instanceof Socket)) return () => void socket.off('data', onData);
  const usual = socket.push;
  const direct = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk === null || socket.readableFlowing !== true || socket.readableLength > 0) {
      return usual.call(socket, chunk, encoding);
    }
    onData(chunk);
    return true;
  };
  socket.push = direct;
  return () => {
    if (socket.push === direct) socket.push = usual;
    socket.off('data', onData);
  };
}
