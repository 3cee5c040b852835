// The sending half of an HTTP/2 connection. It respects the client's flow-control windows and sends one frame of each
// stream in turn. Body data that must wait for a window or a slow socket stays in the queue of its stream, and never
// delays a PING or a reset.
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../raw-headers.ts';
import { HpackEncoder } from '../hpack/hpack-encoder.ts';
import type { FloodBudget } from './http2-budget.ts';
import { errorCode } from '../http2-faults.ts';
import { frameFlag, frameHeadBytes, frameType, maxWindowBytes } from './http2-frames.ts';
import { Http2Output } from './http2-output.ts';
import type { Deliverable, OutputTurn } from './http2-output.ts';

/** The state of one stream that {@link Http2Sender} uses to send the stream's answer. */
export interface OutgoingStream extends Deliverable {
  readonly id: number;
  /** Bytes of body that the client's window still allows; negative after the client reduced its initial window size. */
  sendWindow: number;
  /** Body data that waits to be sent. */
  queue: Buffer[] | undefined;
  queuedBytes: number;
  /** Whether the body is complete once the queue is sent. */
  ended: boolean;
  /**
   * Offset of the stream's last frame in the output, valid while the output has the serial {@link lastFrameSerial}. As
   * long as the offset is valid, END_STREAM can still be set on that frame.
   */
  lastFrameAt: number;
  lastFrameSerial: number;
  /** Called when the stream may send again after sendBody() returned false. */
  drained(): void;
  /** Called when END_STREAM has been sent. */
  finished(): void;
}

const startWindowBytes = 65_535;
const startFrameBytes = 16_384;
/** Larger frames would gain nothing, because a TLS record has at most this many bytes. */
const largestFrameBytes = 16_384;
const noBytes: Buffer = Buffer.alloc(0);
const continueBlock = Buffer.from('\x08\x03100', 'latin1');

/** Sends the frames of one connection. */
export class Http2Sender {
  readonly output: Http2Output;
  readonly #socket: Duplex;
  readonly #budget: FloodBudget;
  readonly #encoder = new HpackEncoder();
  #window = startWindowBytes;
  #streamWindow = startWindowBytes;
  /** Streams with queued data whose own window is open. They wait only for the connection's window or the socket. */
  readonly #ready = new Set<OutgoingStream>();
  /** Streams for which sendBody() returned false, and drained() has not been called yet. */
  readonly #owed = new Set<OutgoingStream>();

  constructor(socket: Duplex, turn: OutputTurn, budget: FloodBudget) {
    this.#socket = socket;
    this.#budget = budget;
    this.output = new Http2Output(socket, turn, () => {
      if (this.#ready.size > 0 || this.#owed.size > 0) this.resume();
    });
  }

  /** Initial window of a new stream in bytes. */
  get streamWindow(): number {
    return this.#streamWindow;
  }

  setTableLimit(bytes: number): void {
    this.#encoder.setLimit(bytes);
  }

  /**
   * Applies SETTINGS_INITIAL_WINDOW_SIZE, which also changes the windows of open streams. False when a window exceeds
   * its maximum.
   */
  setStreamWindow(bytes: number, streams: Iterable<OutgoingStream>): boolean {
    const change = bytes - this.#streamWindow;
    this.#streamWindow = bytes;
    for (const stream of streams) if (!this.widen(stream, change)) return false;
    return true;
  }

  /** Widens the window of a stream. False when it exceeds its maximum. */
  widen(stream: OutgoingStream, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.queuedBytes > 0 && stream.sendWindow > 0) {
      this.#ready.add(stream);
      this.resume();
    }
    return stream.sendWindow <= maxWindowBytes;
  }

  /** Widens the window of the connection. False when it exceeds its maximum. */
  widenConnection(bytes: number): boolean {
    this.#window += bytes;
    if (this.#window > maxWindowBytes) return false;
    if (this.#ready.size > 0) this.resume();
    return true;
  }

  /**
   * Sends a response head, which promisedLength() must have checked. If sendEnd() follows in the same turn of the event
   * loop, it sets END_STREAM on this frame.
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

  /** Splits a header block that is too large for one frame into HEADERS and CONTINUATION. */
  #splitHead(stream: OutgoingStream, at: number): void {
    const { output } = this;
    const block = Buffer.from(output.bytes.subarray(at + frameHeadBytes, output.length));
    output.length = at;
    for (let from = 0; from < block.length; from += startFrameBytes) {
      const to = Math.min(block.length, from + startFrameBytes);
      const type = from === 0 ? frameType.headers : frameType.continuation;
      output.frame(type, to === block.length ? frameFlag.endHeaders : 0, stream.id, block, from, to);
    }
    // END_STREAM may only be set on HEADERS, and here the last frame is CONTINUATION.
    stream.lastFrameSerial = -1;
  }

  /** Sends `100 Continue`: `:status: 100` as a literal HPACK field that is not indexed. */
  sendContinue(stream: OutgoingStream): void {
    this.output.frame(frameType.headers, frameFlag.endHeaders, stream.id, continueBlock);
  }

  /**
   * Sends body data, or queues it when a window or the socket is full.
   * @returns false when the caller should wait for drained()
   */
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

  /** Ends the stream after its queued data. */
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

  /** Sends RST_STREAM and drops the stream's queued data. */
  sendReset(stream: OutgoingStream, code: number): void {
    this.forget(stream);
    this.output.numberFrame(frameType.reset, stream.id, code);
    this.output.deliver(stream);
  }

  /** Drops everything kept for a stream, because it is closed. */
  forget(stream: OutgoingStream): void {
    this.#ready.delete(stream);
    this.#owed.delete(stream);
    stream.queue = undefined;
    stream.queuedBytes = 0;
  }

  /** Sends queued data as far as windows and socket allow, one frame of each stream in turn. */
  resume(): void {
    // A stream that is removed from the Set and added again during this loop is visited again, after the others.
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
    // Moves the stream to the end of the Set, or removes it when its queue is empty.
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
   * Whether the buffer of the socket is full. Body data then stays in the queues of its streams. It is not buffered a
   * second time in the socket, and short control frames can overtake it.
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

  /** Sends RST_STREAM for a stream that was refused or is closed already. */
  refuse(stream: number, code: number = errorCode.refusedStream): void {
    this.output.numberFrame(frameType.reset, stream, code);
  }
}
