// Messages between the first process and a worker over their private socket pair: a length, then a structured clone.
// Connections of clients are handed over on another channel, where each message waits until the one before was taken.
import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

/** One end. */
export interface Channel<Out> {
  /** Queues a message, or drops it when the other end is gone. @throws Error for what cannot be cloned: functions */
  send(message: Out): void;
  /** Bytes that the other end has not taken yet. */
  readonly queuedBytes: number;
  /** Ends after what is queued. */
  close(): void;
  /** Ends now. */
  destroy(): void;
}

/** What happens at the other end. */
export interface ChannelEvents<In> {
  /** Called in the order of sending. What it throws ends the channel. */
  readonly onMessage: (message: In) => void;
  /** Called once, when no more messages come; with the fault when reading one of them failed. */
  readonly onEnd: (fault: unknown) => void;
}

const headBytes = 4;

/** Makes an end of the socket pair. */
export function makeChannel<In, Out>(stream: Duplex, events: ChannelEvents<In>): Channel<Out> {
  return new ChannelEnd<In, Out>(stream, events);
}

class ChannelEnd<In, Out> implements Channel<Out> {
  readonly #stream: Duplex;
  readonly #events: ChannelEvents<In>;
  #ended = false;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  /** Bytes of the message that is awaited, with its head; the head alone while that is not known. */
  #wantedBytes = headBytes;

  constructor(stream: Duplex, events: ChannelEvents<In>) {
    this.#stream = stream;
    this.#events = events;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => this.#end(undefined));
    stream.on('close', () => this.#end(undefined));
    // A fault of the stream means that the other end was killed: no fault of this one.
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
    // Chunks are joined once a message is whole: a snapshot of thousands of clusters comes in hundreds of them.
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
