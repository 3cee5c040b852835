// One SPDY stream as a Node Duplex, with back-pressure in both directions. A reset or a lost connection emits no
// 'error' event, which would crash the process if nobody listened. Instead the readable side ends, `wasReset` becomes
// true, and later writes are dropped.
import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './spdy-headers.ts';

/** The initial window of a stream and of a session, in bytes (SPDY/3.1 section 2.6.8). */
export const defaultWindowBytes = 64 * 1024;

/** The functions of the session that a stream uses. */
export interface StreamLink {
  /** How many bytes the stream may send now, given its own window. Infinity without flow control. */
  allowance(streamWindowBytes: number): number;
  /** Sends a DATA frame. `written` is called when the bytes were written to the transport, or were dropped. */
  sendData(stream: SpdyStream, data: Buffer, fin: boolean, written: () => void): void;
  /** Tells whether the stream's reader is behind (true) or can take data again (false). */
  holdBack(stream: SpdyStream, isHeld: boolean): void;
  /** Reports bytes that the stream's reader has taken. */
  consumed(stream: SpdyStream, bytes: number): void;
  reset(stream: SpdyStream): void;
  forget(stream: SpdyStream): void;
}

interface PendingWrite {
  data: Buffer;
  readonly done: () => void;
}

/** The largest DATA frame that is sent, in bytes. */
const maxPartBytes = 64 * 1024;

/** A bidirectional stream. Each side can be ended separately. */
export class SpdyStream extends Duplex {
  readonly streamId: number;
  /** The headers with which the stream was opened. */
  readonly headers: SpdyHeaders;
  /** How many bytes may still be sent and received under flow control. Only the session changes these two fields. */
  sendWindowBytes: number;
  receiveWindowBytes: number = defaultWindowBytes;
  /**
   * Bytes that the reader has taken, but that were not yet returned to the peer's window. Only the session changes it.
   */
  owedWindowBytes = 0;
  readonly #link: StreamLink;
  #isReplied = false;
  #isReset = false;
  #hasSentFin = false;
  #hasReceivedFin = false;
  #unconsumedBytes = 0;
  #pending: PendingWrite | undefined;
  #onReply: ((isAccepted: boolean) => void)[] = [];

  constructor(streamId: number, headers: SpdyHeaders, link: StreamLink, sendWindowBytes: number) {
    // Without flow control, a slow reader stops the whole connection. A large buffer makes that rare.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 * 1024, writableHighWaterMark: maxPartBytes });
    this.streamId = streamId;
    this.headers = headers;
    this.#link = link;
    this.sendWindowBytes = sendWindowBytes;
  }

  /** True when either side has reset the stream, or the connection was lost before the peer had ended the stream. */
  get wasReset(): boolean {
    return this.#isReset;
  }

  /** True when the peer has ended the stream. */
  get hasReceivedFin(): boolean {
    return this.#hasReceivedFin;
  }

  /** The first value of a header; undefined when absent. `name` must be in lower case. */
  header(name: string): string | undefined {
    return this.headers.get(name)?.[0];
  }

  /** Resolves to true when the peer accepted the stream, and to false when it refused it or disconnected. */
  replied(): Promise<boolean> {
    if (this.#isReset) return Promise.resolve(false);
    if (this.#isReplied) return Promise.resolve(true);
    return new Promise((resolve) => this.#onReply.push(resolve));
  }

  /**
   * Called by the session when SYN_REPLY was sent or received. Data is held until then, because Go's implementation
   * drops earlier data.
   */
  markReplied(): void {
    this.#isReplied = true;
    for (const tell of this.#onReply.splice(0)) tell(true);
    this.pump();
  }

  /** Called by the session with the bytes of a DATA frame. */
  receive(data: Buffer): void {
    if (this.#hasReceivedFin || this.#isReset || data.length === 0) return;
    if (this.push(data)) {
      this.#link.consumed(this, data.length);
      return;
    }
    this.#unconsumedBytes += data.length;
    this.#link.holdBack(this, true);
  }

  /** Called by the session when the peer has ended the stream. */
  receiveFin(): void {
    if (this.#hasReceivedFin || this.#isReset) return;
    this.#hasReceivedFin = true;
    this.push(null);
    this.#forgetWhenOver();
  }

  /**
   * Called by the session when the stream was reset or the connection was lost. Bytes that were received before can
   * still be read.
   */
  terminate(): void {
    if (this.#isReset) return;
    this.#isReset = true;
    if (!this.#hasReceivedFin) this.push(null);
    this.#letGo();
  }

  /** Called by the session when data that waits for SYN_REPLY, or for the window, may be sent now. */
  pump(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    while (this.#isReplied) {
      const allowed = this.#link.allowance(this.sendWindowBytes);
      if (allowed <= 0) return;
      const part = pending.data.subarray(0, Math.min(allowed, maxPartBytes));
      pending.data = pending.data.subarray(part.length);
      this.sendWindowBytes -= part.length;
      const isLast = pending.data.length === 0;
      if (isLast) this.#pending = undefined;
      this.#link.sendData(this, part, false, isLast ? pending.done : () => undefined);
      if (isLast) return;
    }
  }

  override _read(): void {
    const bytes = this.#unconsumedBytes;
    this.#unconsumedBytes = 0;
    if (bytes > 0) this.#link.consumed(this, bytes);
    this.#link.holdBack(this, false);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#isReset) {
      done();
      return;
    }
    this.#pending = { data: chunk, done };
    this.pump();
  }

  override _final(done: () => void): void {
    this.#hasSentFin = true;
    if (this.#isReset) {
      done();
      return;
    }
    this.#link.sendData(this, Buffer.alloc(0), true, done);
    this.#forgetWhenOver();
  }

  override _destroy(_error: Error | null, done: (error: null) => void): void {
    const isComplete = this.#hasSentFin && this.#hasReceivedFin;
    if (!isComplete && !this.#isReset) {
      this.#isReset = true;
      this.#link.reset(this);
    }
    this.#letGo();
    // The error is not passed on, because an 'error' event without a listener would crash the process.
    done(null);
  }

  #letGo(): void {
    for (const tell of this.#onReply.splice(0)) tell(false);
    this.#link.holdBack(this, false);
    this.#link.forget(this);
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.done();
  }

  #forgetWhenOver(): void {
    if (this.#hasSentFin && this.#hasReceivedFin) this.#link.forget(this);
  }
}
