// The `Inbound` object for one HTTP/2 request, which the listener passes on. The client sends the body whether or not
// anybody reads it, so unread data is kept, up to the flow-control window. An incomplete answer is never ended with
// END_STREAM, so that the client notices.
import type { BodyFraming, BodyReader, Inbound } from '../inbound.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { promisedLength } from '../hpack/hpack-encoder.ts';
import { errorCode } from '../http2-faults.ts';
import type { Http2Head } from './http2-head.ts';
import type { Http2Sender, OutgoingStream } from './http2-sender.ts';
import { lingerBytes, lingerMs } from '../linger.ts';

/** The connection of a stream, as the stream uses it. */
export interface StreamCarrier {
  readonly sender: Http2Sender;
  /** Counts a change of the unread body bytes; negative when some were read or dropped. */
  held(bytes: number): void;
  /** Counts body bytes that were read, so that a WINDOW_UPDATE allows the client to send as many again. */
  consumed(stream: Http2Stream, bytes: number): void;
  /** Called when the stream has ended. `resetByUs` is true when the client may still send frames on it. */
  closed(stream: Http2Stream, resetByUs: boolean): void;
}

/** Bytes of body that a client may send on one stream before any are read. */
export const streamWindowBytes = 256 * 1024;
const firstHeldBytes = 1024;

/** One HTTP/2 stream: a request and its answer. */
export class Http2Stream implements Inbound, OutgoingStream {
  readonly protocol = 'HTTP/2.0';
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  answered = false;
  closed = false;
  /** Bytes of body the client may still send on this stream. */
  receiveWindow = streamWindowBytes;
  /** Bytes of body that were read, but for which the client did not get a WINDOW_UPDATE yet. */
  unreported = 0;
  /** Whether the client has sent END_STREAM. */
  received: boolean;
  sendWindow: number;
  queue: Buffer[] | undefined = undefined;
  queuedBytes = 0;
  place = -1;
  ended = false;
  lastFrameAt = 0;
  lastFrameSerial = -1;
  readonly #carrier: StreamCarrier;
  /** Bytes missing until the request's Content-Length is reached; -1 when it has none. */
  #bodyLeft: number;
  #expectsContinue: boolean;
  #reader: BodyReader | undefined;
  #bodyPaused = false;
  #endTold = false;
  #held: Buffer | undefined;
  #heldBytes = 0;
  #bodyless = false;
  /** Bytes missing until the answer's Content-Length is reached; -1 when it has none. */
  #answerLeft = -1;
  /**
   * Whether nothing is sent or received any more. `closed` becomes true later, when the kernel has taken the last
   * bytes.
   */
  #over = false;
  #aborted = false;
  /**
   * Set while the answer is complete and the rest of the request body is being read and dropped. The timer resets the
   * stream if that takes too long.
   */
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

  /** Handles body data. False when it exceeds the Content-Length. */
  receive(piece: Buffer): boolean {
    // The reader may have ended the exchange while a frame was being read.
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

  /** Handles END_STREAM. False when the body is shorter than its Content-Length. */
  receiveEnd(): boolean {
    if (this.#over && this.#lingering === undefined) return true;
    if (this.#bodyLeft > 0) return false;
    this.received = true;
    if (this.#lingering === undefined) this.#deliver();
    else this.#endLingering(false);
    return true;
  }

  /** Stores unread body data in one buffer, because the chunks may be many and small. */
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

  /** Passes stored data to the reader and, once the body is complete, calls onEnd. */
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

  /**
   * Reads `#over` anew after a call to the reader, which may have changed it. The compiler would assume the old value.
   */
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
    // As with a stream, callers expect that onEnd is called only after readBody() has returned.
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

  /** Ends the answer. When it is shorter than its Content-Length, the stream is reset, so that the client notices. */
  end(): void {
    if (this.#over || this.ended || !this.answered) return;
    if (this.#answerLeft > 0) {
      this.abort();
      return;
    }
    this.#carrier.sender.sendEnd(this);
  }

  /** Resets the stream with INTERNAL_ERROR. */
  abort(): void {
    if (!this.#over) this.reset(errorCode.internalError);
  }

  /** Sends RST_STREAM with this error code and ends the exchange. */
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

  /** Ends the exchange, because the client has reset the stream or disconnected. */
  lose(): void {
    if (this.#lingering !== undefined) this.#endLingering(false);
    if (this.#over) return;
    this.#aborted = true;
    this.#finish(false);
    this.#carrier.sender.forget(this);
    this.delivered();
  }

  /**
   * Called when END_STREAM has been sent. The rest of the request body is read and dropped, within limits. RFC 9113
   * section 8.1 would allow a reset instead, but curl and other clients that are still sending report a reset as an
   * error and do not show the answer.
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

  /** Stops dropping the request body: it has ended, was too long or too slow, or the client is gone. */
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

  /**
   * Called when the kernel has taken the last bytes of the stream, or when they will never be sent. Notifies the
   * onClose listeners.
   */
  delivered(): void {
    if (this.closed) return;
    this.closed = true;
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener(this.#aborted);
  }

  /** Called when the connection failed before the last bytes were sent; the exchange then counts as aborted. */
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
