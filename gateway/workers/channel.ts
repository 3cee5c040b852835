// Messages between the first process and a worker over their private socket pair. Each message is its length followed
// by its content as a structured clone. Client connections are not sent over this channel but over Node's own IPC
// channel, where each connection waits until the previous one was accepted.
import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

/** One end of a channel between the first process and a worker. */
export interface Channel<Out> {
  /**
   * Queues a message. The message is dropped when the other process has closed its end.
   * @throws Error for values that cannot be cloned, such as functions
   */
  send(message: Out): void;
  /** Number of bytes queued here that the other process has not read yet. */
  readonly queuedBytes: number;
  /** Closes the channel after all queued messages have been sent. */
  close(): void;
  /** Closes the channel now; queued messages are lost. */
  destroy(): void;
}

/** Functions that a channel calls when a message arrives and when the channel ends. */
export interface ChannelEvents<In> {
  /** Called for each message, in the order of sending. An exception thrown here closes the channel. */
  readonly onMessage: (message: In) => void;
  /**
   * Called once, when no more messages will come. `fault` is the error when a message could not be read or handled;
   * otherwise it is undefined.
   */
  readonly onEnd: (fault: unknown) => void;
}

const headBytes = 4;

/** Makes one end of a channel over a stream. */
export function makeChannel<In, Out>(stream: Duplex, events: ChannelEvents<In>): Channel<Out> {
  return new ChannelEnd<In, Out>(stream, events);
}

class ChannelEnd<In, Out> implements Channel<Out> {
  readonly #stream: Duplex;
  readonly #events: ChannelEvents<In>;
  #ended = false;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  /**
   * Number of bytes that must have arrived before the next step of reading: first those of the message's head, then
   * those of the whole message, whose length is in the head.
   */
  #wantedBytes = headBytes;

  constructor(stream: Duplex, events: ChannelEvents<In>) {
    this.#stream = stream;
    this.#events = events;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => this.#end(undefined));
    stream.on('close', () => this.#end(undefined));
    // An error of the stream means that the other process was killed, so the channel ends without a fault.
    stream.on('error', () => this.#end(undefined));
  }

  get queuedBytes(): number {
    return this.#stream.writableLength;
  }

  send(message: Out): void {
    const body = serialize(message);
    if (this.#ended || this.#stream.writableEnded) return;
    const head = Buffer.allocUnsafe(headBytes);
    head.writeUInt32LE(body.length);
    this.#stream.cork();
    this.#stream.write(head);
    this.#stream.write(body);
    this.#stream.uncork();
  }

  close(): void {
    this.#stream.end();
  }

  destroy(): void {
    this.#end(undefined);
  }

  #end(fault: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.destroy();
    this.#events.onEnd(fault);
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    try {
      this.#readAll();
    } catch (error) {
      this.#end(error);
    }
  }

  #readAll(): void {
    // Chunks are joined only when a message is complete. A message about thousands of clusters arrives in hundreds of
    // chunks, and joining at every chunk would copy the bytes again and again.
    while (this.#bufferedBytes >= this.#wantedBytes) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      this.#chunks = [bytes];
      const messageBytes = headBytes + bytes.readUInt32LE(0);
      if (bytes.length < messageBytes) {
        this.#wantedBytes = messageBytes;
        return;
      }
      const rest = bytes.subarray(messageBytes);
      this.#chunks = [rest];
      this.#bufferedBytes = rest.length;
      this.#wantedBytes = headBytes;
      this.#events.onMessage(deserialize(bytes.subarray(headBytes, messageBytes)) as In);
      if (this.#ended) return;
    }
  }
}
