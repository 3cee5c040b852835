// Messages between the first process and a worker over their private socket pair: a length, then a structured clone.
// Easy to get wrong: it is no part of the channel that hands sockets over, where each message waits until the socket
// before it was taken.
import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

/** One end. */
export interface Channel<Out> {
  /**
   * Queues a message; it is dropped when the other end is gone. @throws Error for what is no data, functions above all
   */
  send(message: Out): void;
  /** Bytes that the other end has not taken yet. */
  readonly queuedBytes: number;
  /** Ends after what is queued. */
  close(): void;
  /** Ends now. */
  destroy(): void;
}

/** What is told of the other end. */
export interface ChannelEvents<In> {
  /** Called in the order of sending. What it throws ends the channel. */
  readonly onMessage: (message: In) => void;
  /** Called once, when nothing comes any more; with the fault when it was none of the other's doing. */
  readonly onEnd: (fault: unknown) => void;
}

const headBytes = 4;

/** Makes an end of the socket pair. */
export function makeChannel<In, Out>(stream: Duplex, { onMessage, onEnd }: ChannelEvents<In>): Channel<Out> {
  let ended = false;
  let chunks: Buffer[] = [];
  let bufferedBytes = 0;
  /** Bytes of the message that is awaited, with its head; the head alone while that is not known. */
  let wantedBytes = headBytes;

  const end = (fault: unknown): void => {
    if (ended) return;
    ended = true;
    stream.destroy();
    onEnd(fault);
  };
  const readAll = (): void => {
    // Joined once a message is whole: a snapshot of thousands of clusters comes in hundreds of pieces.
    while (bufferedBytes >= wantedBytes) {
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      chunks = [bytes];
      const messageBytes = headBytes + bytes.readUInt32LE(0);
      if (bytes.length < messageBytes) {
        wantedBytes = messageBytes;
        return;
      }
      const rest = bytes.subarray(messageBytes);
      chunks = [rest];
      bufferedBytes = rest.length;
      wantedBytes = headBytes;
      onMessage(deserialize(bytes.subarray(headBytes, messageBytes)) as In);
      if (ended) return;
    }
  };
  stream.on('data', (chunk: Buffer) => {
    if (ended) return;
    chunks.push(chunk);
    bufferedBytes += chunk.length;
    try {
      readAll();
    } catch (error) {
      end(error);
    }
  });
  stream.on('end', () => end(undefined));
  stream.on('close', () => end(undefined));
  // The other end was killed: that is its end, and no fault of this one.
  stream.on('error', () => end(undefined));

  return {
    send(message) {
      const body = serialize(message);
      if (ended || stream.writableEnded) return;
      const head = Buffer.allocUnsafe(headBytes);
      head.writeUInt32LE(body.length);
      stream.cork();
      stream.write(head);
      stream.write(body);
      stream.uncork();
    },
    get queuedBytes() {
      return stream.writableLength;
    },
    close: () => void stream.end(),
    destroy: () => end(undefined),
  };
}
