// One SPDY stream as a Node Duplex, with back-pressure in both directions. A reset or a lost connection emits no
// 'error' event, which would crash the process if nobody listened. Instead the readable side ends, `wasReset` becomes
// true, and later writes are dropped.
import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './spdy-headers.ts';

/** The functions of the session that a stream uses. */
export interface StreamLink {
  /** Sends a DATA frame. `written` is called when the bytes were written to the transport, or were dropped. */
  sendData(stream: SpdyStream, data: Buffer, fin: boolean, written: () => void): void;
  /**
   * Tells the session whether the stream's buffer is full (true), so that the connection is paused, or has room again
   * (false).
   */
  holdBack(stream: SpdyStream, isHeld: boolean): void;
  /** Sends RST_STREAM. */
  reset(stream: SpdyStream): void;
  /** Removes the stream from the session, because it has ended. */
  forget(stream: SpdyStream): void;
}

/** A write that waits for SYN_REPLY. */
interface PendingWrite {
  readonly data: Buffer;
  readonly done: () => void;
}

/** Maximum number of bytes in one DATA frame; longer data is sent in several frames. */
const maxPartBytes = 64 * 1024;

/** A bidirectional stream. Each side can be ended separately. */
export class SpdyStream extends Duplex {
  readonly streamId: number;
  /** The headers with which the stream was opened. */
  readonly headers: SpdyHeaders;
  readonly #link: StreamLink;
  #isReplied = false;
  #isReset = false;
  #hasSentFin = false;
  #hasReceivedFin = false;
  #pending: PendingWrite | undefined;
  #onReply: ((isAccepted: boolean) => void)[] = [];

  constructor(streamId: number, headers: SpdyHeaders, link: StreamLink) {
    // A full buffer of one stream stops the whole connection, so the buffer is large.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 * 1024, writableHighWaterMark: maxPartBytes });
    this.streamId = streamId;
    this.headers = headers;
    this.#link = link;
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
   * Called by the session when SYN_REPLY was sent or received. Data to send waits until then, because Go's
   * implementation drops data that it receives before SYN_REPLY.
   */
  markReplied(): void {
    this.#isReplied = true;
    for (const tell of this.#onReply.splice(0)) tell(true);
    this.#pump();
  }

  /** Called by the session with the bytes of a DATA frame. */
  receive(data: Buffer): void {
    if (this.#hasReceivedFin || this.#isReset || data.length === 0) return;
    if (!this.push(data)) this.#link.holdBack(this, true);
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

  /** Sends the data that has waited for SYN_REPLY. */
  #pump(): void {
    const pending = this.#pending;
    if (pending === undefined || !this.#isReplied) return;
    this.#pending = undefined;
    const { data, done } = pending;
    for (let offset = 0; offset === 0 || offset < data.length; offset += maxPartBytes) {
      const isLast = offset + maxPartBytes >= data.length;
      this.#link.sendData(this, data.subarray(offset, offset + maxPartBytes), false, isLast ? done : () => undefined);
    }
  }

  override _read(): void {
    this.#link.holdBack(this, false);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#isReset) {
      done();
      return;
    }
    this.#pending = { data: chunk, done };
    this.#pump();
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
