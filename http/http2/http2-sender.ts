// The sending half of an HTTP/2 connection: answers within the windows of the client, fairly between its streams. A
// body that waits for a window or a slow socket stays with its stream, within bounds, and never delays a PING or a
// reset.
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../raw-headers.ts';
import { HpackEncoder } from '../hpack/hpack-encoder.ts';
import type { FloodBudget } from './http2-budget.ts';
import { errorCode, frameFlag, frameHeadBytes, frameType, maxWindowBytes } from './http2-frames.ts';
import { Http2Output } from './http2-output.ts';
import type { Deliverable, OutputTurn } from './http2-output.ts';

/** What the sender keeps with a stream. */
export interface OutgoingStream extends Deliverable {
  readonly id: number;
  /** Bytes of body the client will take; negative after it made its initial window smaller. */
  sendWindow: number;
  /** Pieces of body that wait. */
  queue: Buffer[] | undefined;
  queuedBytes: number;
  /** No body comes after the queue. */
  ended: boolean;
  /** Where its last frame begins in the output, while that has this serial: END_STREAM can still be put on it. */
  lastFrameAt: number;
  lastFrameSerial: number;
  /** Called when there is room again after sendBody() gave false. */
  drained(): void;
  /** END_STREAM was sent. */
  finished(): void;
}

const startWindowBytes = 65_535;
const startFrameBytes = 16_384;
/** Larger frames gain nothing: a TLS record holds no more. */
const largestFrameBytes = 16_384;
const noBytes: Buffer = Buffer.alloc(0);
const continueBlock = Buffer.from('\x08\x03100', 'latin1');

/** Sends for one connection. */
export class Http2Sender {
  readonly output: Http2Output;
  readonly #socket: Duplex;
  readonly #budget: FloodBudget;
  readonly #encoder = new HpackEncoder();
  #window = startWindowBytes;
  #streamWindow = startWindowBytes;
  /** Streams with a queue that nothing but the connection holds up. */
  readonly #ready = new Set<OutgoingStream>();
  /** Streams whose sendBody() gave false. */
  readonly #owed = new Set<OutgoingStream>();

  constructor(socket: Duplex, turn: OutputTurn, budget: FloodBudget) {
    this.#socket = socket;
    this.#budget = budget;
    this.output = new Http2Output(socket, turn, () => {
      if (this.#ready.size > 0 || this.#owed.size > 0) this.resume();
    });
  }

  /** Window of a stream that is opened now. */
  get streamWindow(): number {
    return this.#streamWindow;
  }

  setTableLimit(bytes: number): void {
    this.#encoder.setLimit(bytes);
  }

  /** SETTINGS_INITIAL_WINDOW_SIZE also moves the windows that are open. False when one gets too large. */
  setStreamWindow(bytes: number, streams: Iterable<OutgoingStream>): boolean {
    const change = bytes - this.#streamWindow;
    this.#streamWindow = bytes;
    for (const stream of streams) if (!this.widen(stream, change)) return false;
    return true;
  }

  /** False when the window gets too large. */
  widen(stream: OutgoingStream, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.queuedBytes > 0 && stream.sendWindow > 0) {
      this.#ready.add(stream);
      this.resume();
    }
    return stream.sendWindow <= maxWindowBytes;
  }

  /** The window of the connection; false when it gets too large. */
  widenConnection(bytes: number): boolean {
    this.#window += bytes;
    if (this.#window > maxWindowBytes) return false;
    if (this.#ready.size > 0) this.resume();
    return true;
  }

  /**
   * Sends a head that promisedLength() has found valid. Its END_STREAM comes with sendEnd(), into this frame when that
   * is in the same turn.
   */
  sendHead(stream: OutgoingStream, status: number, headers: RawHeaders): void {
    const { output } = this;
    output.reserve(frameHeadBytes);
    const at = output.length;
    output.frameHead(0, frameType.headers, frameFlag.endHeaders, stream.id);
    this.#encoder.encode(output, status, headers);
    const length = output.length - at - frameHeadBytes;
    if (length > startFrameBytes) {
      this.#splitHead(stream, at);
      return;
    }
    output.bytes[at + 1] = length >> 8;
    output.bytes[at + 2] = length;
    stream.lastFrameAt = at;
    stream.lastFrameSerial = output.serial;
  }

  /** A block that fills more than one frame goes on in CONTINUATION. */
  #splitHead(stream: OutgoingStream, at: number): void {
    const { output } = this;
    const block = Buffer.from(output.bytes.subarray(at + frameHeadBytes, output.length));
    output.length = at;
    for (let from = 0; from < block.length; from += startFrameBytes) {
      const to = Math.min(block.length, from + startFrameBytes);
      const type = from === 0 ? frameType.headers : frameType.continuation;
      output.frame(type, to === block.length ? frameFlag.endHeaders : 0, stream.id, block, from, to);
    }
    // END_STREAM belongs on HEADERS, which is not the last frame here.
    stream.lastFrameSerial = -1;
  }

  /** `:status: 100` (section 8.1), literal and not indexed. */
  sendContinue(stream: OutgoingStream): void {
    this.output.frame(frameType.headers, frameFlag.endHeaders, stream.id, continueBlock);
  }

  /** Sends a piece of body, or keeps it until it may go. False means wait for drained(). */
  sendBody(stream: OutgoingStream, chunk: Buffer): boolean {
    const { length } = chunk;
    if (stream.queuedBytes === 0 && length <= stream.sendWindow && length <= this.#window && !this.#isCongested()) {
      this.#data(stream, chunk, length);
      if (!this.#isCongested()) return true;
    } else {
      (stream.queue ??= []).push(chunk);
      stream.queuedBytes += length;
      if (stream.sendWindow > 0) {
        this.#ready.add(stream);
        this.resume();
      }
      if (stream.queuedBytes === 0 && !this.#isCongested()) return true;
    }
    this.#owed.add(stream);
    return false;
  }

  /** END_STREAM, after what waits. */
  sendEnd(stream: OutgoingStream): void {
    stream.ended = true;
    this.#owed.delete(stream);
    if (stream.queuedBytes > 0) return;
    const { output } = this;
    if (stream.lastFrameSerial === output.serial) output.bytes[stream.lastFrameAt + 4]! |= frameFlag.endStream;
    else output.frame(frameType.data, frameFlag.endStream, stream.id, noBytes);
    this.#finish(stream);
  }

  #finish(stream: OutgoingStream): void {
    this.#budget.earnAnswer();
    this.output.deliver(stream);
    stream.finished();
  }

  /** RST_STREAM; what waits is dropped. */
  sendReset(stream: OutgoingStream, code: number): void {
    this.forget(stream);
    this.output.numberFrame(frameType.reset, stream.id, code);
    this.output.deliver(stream);
  }

  /** The stream is gone. */
  forget(stream: OutgoingStream): void {
    this.#ready.delete(stream);
    this.#owed.delete(stream);
    stream.queue = undefined;
    stream.queuedBytes = 0;
  }

  /** Sends what waits as far as windows and socket allow, one frame of each stream in turn. */
  resume(): void {
    // A stream that is added again while this runs comes again, after the others.
    for (const stream of this.#ready) {
      if (this.#window <= 0 || this.#isCongested()) break;
      this.#sendQueued(stream);
    }
    if (this.#owed.size === 0 || this.#isCongested()) return;
    for (const stream of this.#owed) {
      if (stream.queuedBytes > 0) continue;
      this.#owed.delete(stream);
      stream.drained();
      if (this.#isCongested()) return;
    }
  }

  #sendQueued(stream: OutgoingStream): void {
    const queue = stream.queue!;
    const chunk = queue[0]!;
    const take = Math.min(chunk.length, stream.sendWindow, this.#window, largestFrameBytes);
    this.#data(stream, chunk, take);
    if (take === chunk.length) queue.shift();
    else queue[0] = chunk.subarray(take);
    stream.queuedBytes -= take;
    // It goes to the end of the line, or leaves it.
    this.#ready.delete(stream);
    if (stream.queuedBytes === 0) {
      if (stream.ended) this.sendEnd(stream);
    } else if (stream.sendWindow > 0) this.#ready.add(stream);
  }

  #data(stream: OutgoingStream, chunk: Buffer, length: number): void {
    const { output } = this;
    stream.sendWindow -= length;
    this.#window -= length;
    this.#budget.earnBytes(length);
    for (let at = 0; at < length; at += largestFrameBytes) {
      const end = Math.min(length, at + largestFrameBytes);
      output.reserve(frameHeadBytes + end - at);
      stream.lastFrameAt = output.length;
      stream.lastFrameSerial = output.serial;
      output.frame(frameType.data, 0, stream.id, chunk, at, end);
    }
  }

  /**
   * True while the buffer of the socket is full. Then bodies stay in the queues of their streams. So they are not
   * buffered a second time in the socket, and short frames can overtake them.
   */
  #isCongested(): boolean {
    return this.output.waitingBytes >= this.#socket.writableHighWaterMark;
  }

  sendPing(flags: number, payload: Uint8Array): void {
    this.output.frame(frameType.ping, flags, 0, payload);
  }

  sendWindowUpdate(stream: number, bytes: number): void {
    this.output.numberFrame(frameType.windowUpdate, stream, bytes);
  }

  sendGoAway(lastStream: number, code: number): void {
    const { output } = this;
    output.reserve(frameHeadBytes + 8);
    output.frameHead(8, frameType.goAway, 0, 0);
    output.length = output.bytes.writeUInt32BE(lastStream, output.length);
    output.length = output.bytes.writeUInt32BE(code, output.length);
  }

  /** RST_STREAM for a stream there is no object for. */
  refuse(stream: number, code: number = errorCode.refusedStream): void {
    this.output.numberFrame(frameType.reset, stream, code);
  }
}
