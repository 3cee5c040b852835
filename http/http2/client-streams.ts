// The streams of one HTTP/2 connection of a client (RFC 9113 section 5): which are open, the bodies that come on them,
// and how faulty ones are reset. A fault of one stream resets that stream; a fault that leaves both sides with
// different ideas of the connection throws ConnectionFault.
import { maxClientStreams } from '../../lib/limits.ts';
import type { FloodBudget } from './http2-budget.ts';
import { ConnectionFault, calm, errorCode, frameFlag, protocolFault } from './http2-frames.ts';
import type { Http2Head } from './http2-head.ts';
import { ReceiveWindow } from './http2-receive-window.ts';
import type { Http2Sender } from './http2-sender.ts';
import { Http2Stream, streamWindowBytes, type StreamCarrier } from './http2-stream.ts';
import { StreamSet } from './http2-stream-set.ts';
import { StreamIds } from './http2-stream-ids.ts';

/** What the streams report to their connection. */
export interface StreamsOwner {
  /** Less of the bodies is held than before. */
  onHeldLess(): void;
  /** A stream has ended; the frame that ends it is written right after this call. */
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
  /** The stream whose DATA frame is being read; undefined when its body is dropped. */
  #dataStream: Http2Stream | undefined;
  /** Bytes of that frame that are no body, or not read yet. */
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

  /** The highest id that was opened. */
  get last(): number {
    return this.#ids.last;
  }

  /** Bytes of bodies that have not been read yet. */
  get heldBytes(): number {
    return this.#window.heldBytes;
  }

  /** A copy. */
  values(): readonly Http2Stream[] {
    return this.#open.values();
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id);
  }

  /**
   * Opens a stream with an id above {@link last}; undefined when it was reset instead.
   * @param head undefined when it is malformed
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

  /** HEADERS on a stream that is no longer open: silence where we reset it. @throws ConnectionFault */
  judgeLateHeaders(id: number): void {
    if (this.#ids.wasResetByUs(id)) return;
    if (this.#ids.wasPassedOver(id)) throw protocolFault('HEADERS on a stream that was passed over');
    throw new ConnectionFault(errorCode.streamClosed, 'HEADERS on a stream that has ended');
  }

  /** A second header block, which must end the body. */
  onTrailers(stream: Http2Stream, valid: boolean, ends: boolean): void {
    if (stream.received) this.fault(stream, errorCode.streamClosed);
    else if (!ends || !valid || !stream.receiveEnd()) this.fault(stream, errorCode.protocolError);
  }

  /** A DATA frame begins; `length` is its whole payload. @throws ConnectionFault */
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

  /** WINDOW_UPDATE of a stream. @throws ConnectionFault */
  onWindowUpdate(id: number, increment: number): void {
    if (id > this.#ids.last) throw protocolFault('WINDOW_UPDATE on a stream that is not open');
    const stream = this.#open.get(id);
    if (stream === undefined) return;
    if (increment === 0) this.fault(stream, errorCode.protocolError);
    else if (!this.sender.widen(stream, increment)) this.fault(stream, errorCode.flowControlError);
  }

  /** RST_STREAM. @throws ConnectionFault */
  onReset(id: number): void {
    if (id === 0 || id > this.#ids.last) throw protocolFault('RST_STREAM on a stream that is not open');
    if (!this.#budget.spendReset()) throw calm('too many streams are reset');
    this.#open.get(id)?.lose();
  }

  /** The client is gone. */
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

  /** Resets a stream for what its client did. @throws ConnectionFault when that was one too many */
  fault(stream: Http2Stream, code: number): void {
    this.#spendReset();
    if (this.#dataStream === stream) this.#dataStream = undefined;
    stream.reset(code);
  }

  /** The same where there is no stream. */
  #refuse(id: number, code: number): void {
    this.#spendReset();
    this.#ids.rememberReset(id);
    this.sender.refuse(id, code);
  }

  #spendReset(): void {
    if (!this.#budget.spendReset()) throw calm('too many streams had to be reset');
  }
}
