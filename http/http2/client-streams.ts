// The streams of one HTTP/2 connection of a client (RFC 9113 section 5): which are open, the request bodies on them,
// and resets of streams on which the client breaks the protocol. An error of one stream resets only that stream. An
// error after which client and gateway would disagree about the connection's state throws ConnectionFault.
import { maxClientStreams } from '../../lib/limits.ts';
import type { FloodBudget } from './http2-budget.ts';
import { ConnectionFault, calm, errorCode, protocolFault } from '../http2-faults.ts';
import { frameFlag } from './http2-frames.ts';
import type { Http2Head } from './http2-head.ts';
import { ReceiveWindow } from './http2-receive-window.ts';
import type { Http2Sender } from './http2-sender.ts';
import { Http2Stream, streamWindowBytes, type StreamCarrier } from './http2-stream.ts';
import { StreamSet } from './http2-stream-set.ts';
import { StreamIds } from './http2-stream-ids.ts';

/** What the streams report to their connection. */
export interface StreamsOwner {
  /** Called when unread body bytes have been read or dropped. */
  onHeldLess(): void;
  /** Called when a stream ends, right before its last frame is written. */
  onStreamClosed(): void;
}

/** All streams of one connection. */
export class ClientStreams implements StreamCarrier {
  readonly sender: Http2Sender;
  readonly #owner: StreamsOwner;
  readonly #budget: FloodBudget;
  readonly #open = new StreamSet<Http2Stream>();
  readonly #ids = new StreamIds();
  readonly #window = new ReceiveWindow((bytes) => this.sender.sendWindowUpdate(0, bytes));
  /** The stream whose DATA frame is being read; undefined when the frame's data is dropped. */
  #dataStream: Http2Stream | undefined;
  /** Bytes of the current DATA frame that were not yet received as body data; at the end of the frame, its padding. */
  #paddingBytes = 0;
  #dataEnds = false;

  constructor(sender: Http2Sender, budget: FloodBudget, owner: StreamsOwner) {
    this.sender = sender;
    this.#budget = budget;
    this.#owner = owner;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The highest stream id the client has opened. */
  get last(): number {
    return this.#ids.last;
  }

  /** Bytes of request bodies that were received and not read yet. */
  get heldBytes(): number {
    return this.#window.heldBytes;
  }

  /** A copy of the list of open streams, safe to iterate while streams close. */
  values(): readonly Http2Stream[] {
    return this.#open.values();
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id);
  }

  /**
   * Opens a stream; `id` must be above {@link last}.
   * @param head undefined when the head is malformed
   * @param ends whether the request has no body
   * @returns undefined when the stream was reset
   * @throws ConnectionFault after too many resets
   */
  open(id: number, head: Http2Head | undefined, ends: boolean): Http2Stream | undefined {
    this.#ids.open(id);
    if (this.#open.size >= maxClientStreams) this.#refuse(id, errorCode.refusedStream);
    else if (head === undefined) this.#refuse(id, errorCode.protocolError);
    else {
      const stream = new Http2Stream(id, head, ends, this);
      this.#open.add(stream);
      return stream;
    }
    return undefined;
  }

  /**
   * Handles HEADERS on a closed stream. They are ignored when the gateway reset the stream, since the client may not
   * have known that.
   * @throws ConnectionFault otherwise
   */
  judgeLateHeaders(id: number): void {
    if (this.#ids.wasResetByUs(id)) return;
    if (this.#ids.wasPassedOver(id)) throw protocolFault('HEADERS on a stream that was passed over');
    throw new ConnectionFault(errorCode.streamClosed, 'HEADERS on a stream that has ended');
  }

  /** Handles trailers: a second header block, which must end the request. */
  onTrailers(stream: Http2Stream, valid: boolean, ends: boolean): void {
    if (stream.received) this.fault(stream, errorCode.streamClosed);
    else if (!ends || !valid || !stream.receiveEnd()) this.fault(stream, errorCode.protocolError);
  }

  /**
   * Handles the header of a DATA frame; `length` is the length of its payload.
   * @throws ConnectionFault when the stream was never opened, or the client exceeds the connection's window
   */
  onDataBegin(id: number, flags: number, length: number): void {
    if (id === 0 || id > this.#ids.last) throw protocolFault('DATA on a stream that is not open');
    if (!this.#window.take(length)) throw new ConnectionFault(errorCode.flowControlError, 'the window is exceeded');
    this.#dataEnds = (flags & frameFlag.endStream) !== 0;
    this.#paddingBytes = length;
    this.#dataStream = undefined;
    const stream = this.#open.get(id);
    if (stream === undefined) {
      if (!this.#ids.wasResetByUs(id)) this.#refuse(id, errorCode.streamClosed);
    } else if (stream.received) this.fault(stream, errorCode.streamClosed);
    else if (length > stream.receiveWindow) this.fault(stream, errorCode.flowControlError);
    else {
      stream.receiveWindow -= length;
      this.#dataStream = stream;
    }
  }

  onDataPiece(piece: Buffer): void {
    const stream = this.#dataStream;
    this.#paddingBytes -= piece.length;
    if (stream !== undefined && !stream.receive(piece)) this.fault(stream, errorCode.protocolError);
  }

  onDataEnd(length: number): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    const isEmpty = this.#paddingBytes === length;
    if (isEmpty && !this.#dataEnds && !this.#budget.spendFrame()) throw calm('too many empty frames');
    if (stream === undefined) return;
    if (this.#paddingBytes > 0) this.consumed(stream, this.#paddingBytes);
    if (this.#dataEnds && !stream.receiveEnd()) this.fault(stream, errorCode.protocolError);
  }

  /**
   * Handles WINDOW_UPDATE of a stream.
   * @throws ConnectionFault when the stream was never opened
   */
  onWindowUpdate(id: number, increment: number): void {
    if (id > this.#ids.last) throw protocolFault('WINDOW_UPDATE on a stream that is not open');
    const stream = this.#open.get(id);
    if (stream === undefined) return;
    if (increment === 0) this.fault(stream, errorCode.protocolError);
    else if (!this.sender.widen(stream, increment)) this.fault(stream, errorCode.flowControlError);
  }

  /**
   * Handles RST_STREAM of the client.
   * @throws ConnectionFault when the stream was never opened, or after too many resets
   */
  onReset(id: number): void {
    if (id === 0 || id > this.#ids.last) throw protocolFault('RST_STREAM on a stream that is not open');
    if (!this.#budget.spendReset()) throw calm('too many streams are reset');
    this.#open.get(id)?.lose();
  }

  /** Ends all streams, because the client disconnected. */
  loseAll(): void {
    for (const stream of this.#open.values()) stream.lose();
  }

  held(bytes: number): void {
    this.#window.held(bytes);
    if (bytes < 0) this.#owner.onHeldLess();
  }

  consumed(stream: Http2Stream, bytes: number): void {
    stream.unreported += bytes;
    if (stream.received || stream.unreported < streamWindowBytes / 2) return;
    this.sender.sendWindowUpdate(stream.id, stream.unreported);
    stream.receiveWindow += stream.unreported;
    stream.unreported = 0;
  }

  closed(stream: Http2Stream, resetByUs: boolean): void {
    this.#open.delete(stream);
    if (resetByUs) this.#ids.rememberReset(stream.id);
    this.#owner.onStreamClosed();
  }

  /**
   * Resets a stream because the client broke the protocol on it.
   * @throws ConnectionFault after too many resets
   */
  fault(stream: Http2Stream, code: number): void {
    this.#spendReset();
    if (this.#dataStream === stream) this.#dataStream = undefined;
    stream.reset(code);
  }

  /**
   * Resets a stream that is not among the open ones: it was never accepted, or is closed already.
   * @throws ConnectionFault after too many resets
   */
  #refuse(id: number, code: number): void {
    this.#spendReset();
    this.#ids.rememberReset(id);
    this.sender.refuse(id, code);
  }

  #spendReset(): void {
    if (!this.#budget.spendReset()) throw calm('too many streams had to be reset');
  }
}
