// One request over HTTP/2 as its listener sees it. Its body comes whether anybody reads it or not, so what is early is
// held, within the window the client was given. An answer that was cut never gets END_STREAM.
import type { BodyFraming, BodyReader, Inbound } from '../inbound.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { promisedLength } from '../hpack/hpack-encoder.ts';
import { errorCode } from './http2-frames.ts';
import type { Http2Head } from './http2-head.ts';
import type { Http2Sender, OutgoingStream } from './http2-sender.ts';
import { lingerBytes, lingerMs } from '../linger.ts';

/** What a stream needs of its connection. */
export interface StreamCarrier {
  readonly sender: Http2Sender;
  /** So many more bytes of body wait for a reader, or fewer. */
  held(bytes: number): void;
  /** Bytes of body were read, so the client may send as many again. */
  consumed(stream: Http2Stream, bytes: number): void;
  /** The stream ended; `resetByUs` when its client may still be sending. */
  closed(stream: Http2Stream, resetByUs: boolean): void;
}

/** Bytes of body a client may send before they are read. */
export const streamWindowBytes = 256 * 1024;
const firstHeldBytes = 1024;

/** One stream of a client. */
export class Http2Stream implements Inbound, OutgoingStream {
  readonly protocol = 'HTTP/2.0';
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  answered = false;
  closed = false;
  /** Bytes of body the client may still send. */
  receiveWindow = streamWindowBytes;
  /** Bytes that were read and not yet given back to the client's window. */
  unreported = 0;
  /** The client has sent END_STREAM. */
  received: boolean;
  sendWindow: number;
  queue: Buffer[] | undefined = undefined;
  queuedBytes = 0;
  place = -1;
  ended = false;
  lastFrameAt = 0;
  lastFrameSerial = -1;
  readonly #carrier: StreamCarrier;
  /** Bytes of body still promised by the client, -1 when it did not say. */
  #bodyLeft: number;
  #expectsContinue: boolean;
  #reader: BodyReader | undefined;
  #bodyPaused = false;
  #endTold = false;
  #held: Buffer | undefined;
  #heldBytes = 0;
  #bodyless = false;
  /** Bytes of body the answer's head still promises, -1 when it did not say. */
  #answerLeft = -1;
  /** Nothing is sent or received any more; `closed` follows when what was sent has left. */
  #over = false;
  #aborted = false;
  /** The answer was sent and the rest of the request's body is still taken and dropped: what gives that up. */
  #lingering: NodeJS.Timeout | undefined;
  #droppedBytes = 0;
  #drainListener: (() => void) | undefined;
  #closeListeners: ((aborted: boolean) => void)[] | undefined;

  constructor(id: number, head: Http2Head, ends: boolean, carrier: StreamCarrier) {
    this.id = id;
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.body = head.body;
    this.received = ends;
    this.sendWindow = carrier.sender.streamWindow;
    this.#carrier = carrier;
    this.#bodyLeft = head.bodyBytes;
    this.#expectsContinue = head.expectsContinue;
  }

  /** A piece of body came. False when it is more than Content-Length says. */
  receive(piece: Buffer): boolean {
    // The reader may end the exchange in the middle of a frame.
    if (this.#over && this.#lingering === undefined) return true;
    if (this.#bodyLeft >= 0) {
      this.#bodyLeft -= piece.length;
      if (this.#bodyLeft < 0) return false;
    }
    if (this.#lingering !== undefined) this.#drop(piece.length);
    else if (this.#reader === undefined || this.#bodyPaused || this.#heldBytes > 0) this.#hold(piece);
    else {
      this.#reader.onData(piece);
      if (!this.#isOver()) this.#carrier.consumed(this, piece.length);
    }
    return true;
  }

  /** END_STREAM came. False when it is less than Content-Length says. */
  receiveEnd(): boolean {
    if (this.#over && this.#lingering === undefined) return true;
    if (this.#bodyLeft > 0) return false;
    this.received = true;
    if (this.#lingering === undefined) this.#deliver();
    else this.#endLingering(false);
    return true;
  }

  /** Pieces may be many and small, so they are moved together. */
  #hold(piece: Buffer): void {
    const bytes = this.#heldBytes + piece.length;
    if (this.#held === undefined || bytes > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(firstHeldBytes, bytes * 2));
      if (this.#heldBytes > 0) grown.set(this.#held!.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(piece, this.#heldBytes);
    this.#heldBytes = bytes;
    this.#carrier.held(piece.length);
  }

  /** Hands on what was held, then the end. */
  #deliver(): void {
    const reader = this.#reader;
    if (reader === undefined || this.#bodyPaused || this.#over) return;
    if (this.#heldBytes > 0) {
      const piece = this.#held!.subarray(0, this.#heldBytes);
      this.#dropHeld();
      reader.onData(piece);
      if (this.#isOver()) return;
      this.#carrier.consumed(this, piece.length);
      if (this.#bodyPaused) return;
    }
    if (!this.received || this.#endTold) return;
    this.#endTold = true;
    reader.onEnd();
  }

  /** Asked after a call to the reader, which may have changed it. */
  #isOver(): boolean {
    return this.#over;
  }

  #dropHeld(): void {
    const bytes = this.#heldBytes;
    if (bytes === 0) return;
    this.#held = undefined;
    this.#heldBytes = 0;
    this.#carrier.held(-bytes);
  }

  readBody(reader: BodyReader): void {
    if (this.#over) return;
    this.#reader = reader;
    if (this.#expectsContinue && !this.answered && !this.received && this.#heldBytes === 0) {
      this.#carrier.sender.sendContinue(this);
    }
    this.#expectsContinue = false;
    // The reader of a body that has ended hears so after this call, as from a stream.
    if (this.received && this.#heldBytes === 0) queueMicrotask(() => this.#deliver());
    else this.#deliver();
  }

  pauseBody(): void {
    this.#bodyPaused = true;
  }

  resumeBody(): void {
    this.#bodyPaused = false;
    this.#deliver();
  }

  respond(status: number, headers: RawHeaders, bodyless: boolean): void {
    if (this.answered || this.#over) return;
    const promised = promisedLength(status, headers);
    this.answered = true;
    this.#bodyless = bodyless;
    this.#answerLeft = bodyless ? 0 : promised;
    this.#carrier.sender.sendHead(this, status, headers);
  }

  write(chunk: Buffer): boolean {
    if (this.#over || this.ended || !this.answered || this.#bodyless || chunk.length === 0) return true;
    if (this.#answerLeft >= 0) {
      if (chunk.length > this.#answerLeft) {
        this.abort();
        return true;
      }
      this.#answerLeft -= chunk.length;
    }
    return this.#carrier.sender.sendBody(this, chunk);
  }

  /** An answer that is shorter than its Content-Length is cut, so that it looks cut. */
  end(): void {
    if (this.#over || this.ended || !this.answered) return;
    if (this.#answerLeft > 0) {
      this.abort();
      return;
    }
    this.#carrier.sender.sendEnd(this);
  }

  /** RST_STREAM with INTERNAL_ERROR. */
  abort(): void {
    if (!this.#over) this.reset(errorCode.internalError);
  }

  /** Resets the stream towards the client. */
  reset(code: number): void {
    if (this.#lingering !== undefined) {
      this.#endLingering(true);
      this.#carrier.sender.refuse(this.id, code);
    }
    if (this.#over) return;
    this.#aborted = true;
    this.#finish(true);
    this.#carrier.sender.sendReset(this, code);
  }

  /** The client has reset the stream, or is gone. */
  lose(): void {
    if (this.#lingering !== undefined) this.#endLingering(false);
    if (this.#over) return;
    this.#aborted = true;
    this.#finish(false);
    this.#carrier.sender.forget(this);
    this.delivered();
  }

  /**
   * END_STREAM was sent. The rest of the body is taken and dropped, within bounds: a reset right after the answer is
   * allowed (RFC 9113 section 8.1), but curl and others that are still sending take it for a failure, and their user
   * never sees the answer.
   */
  finished(): void {
    if (this.#over) return;
    this.ended = true;
    if (this.received) {
      this.#finish(false);
      return;
    }
    const held = this.#heldBytes;
    this.#over = true;
    this.#dropHeld();
    this.#lingering = setTimeout(() => this.reset(errorCode.noError), lingerMs).unref();
    this.#drop(held);
  }

  #drop(bytes: number): void {
    this.#droppedBytes += bytes;
    if (this.#droppedBytes > lingerBytes) this.reset(errorCode.noError);
    else if (bytes > 0) this.#carrier.consumed(this, bytes);
  }

  /** The body has ended, was too much or too slow, or the client is gone. */
  #endLingering(resetByUs: boolean): void {
    clearTimeout(this.#lingering);
    this.#lingering = undefined;
    this.#carrier.closed(this, resetByUs);
  }

  #finish(resetByUs: boolean): void {
    this.#over = true;
    this.#dropHeld();
    this.#carrier.closed(this, resetByUs);
  }

  /** What was sent last has left, or never will. */
  delivered(): void {
    if (this.closed) return;
    this.closed = true;
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener(this.#aborted);
  }

  /** The connection failed before the last bytes left. */
  undelivered(): void {
    this.#aborted = true;
    this.delivered();
  }

  drained(): void {
    if (!this.#over) this.#drainListener?.();
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  onClose(listener: (aborted: boolean) => void): void {
    if (this.closed) listener(this.#aborted);
    else (this.#closeListeners ??= []).push(listener);
  }
}
