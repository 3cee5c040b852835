// One SPDY stream as a Node Duplex with back-pressure both ways. A reset or a lost connection is no 'error' event,
// which could go unheard: the readable side ends, `wasReset` is true, and later writes are dropped.
import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './spdy-headers.ts';

/** Initial window of a stream and of a session (SPDY/3.1 section 2.6.8), bytes. */
export const defaultWindowBytes = 64 * 1024;

/** What a stream asks of its session. */
export interface StreamLink {
  /** Bytes the stream may put on the wire now, given its own window; Infinity without flow control. */
  allowance(streamWindowBytes: number): number;
  /** Writes a DATA frame; `written` is called once the bytes left the process or never will. */
  sendData(stream: SpdyStream, data: Buffer, fin: boolean, written: () => void): void;
  /** The reader wants no more (true) or more again (false). */
  holdBack(stream: SpdyStream, isHeld: boolean): void;
  /** Bytes were handed on to the reader. */
  consumed(stream: SpdyStream, bytes: number): void;
  reset(stream: SpdyStream): void;
  forget(stream: SpdyStream): void;
}

interface PendingWrite {
  data: Buffer;
  readonly done: () => void;
}

/** Largest DATA frame we send, bytes. */
const maxPartBytes = 64 * 1024;

/** A bidirectional stream; ends of both sides are independent (half-close). */
export class SpdyStream extends Duplex {
  readonly streamId: number;
  /** The headers it was opened with. */
  readonly headers: SpdyHeaders;
  /** Bytes we may still send and the peer may still send, when flow control is on. Kept by the session. */
  sendWindowBytes: number;
  receiveWindowBytes: number = defaultWindowBytes;
  /** Bytes handed on to the reader and not yet given back to the peer's window. Kept by the session. */
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
    // Without flow control the only brake is to stop reading the whole connection; a large buffer keeps that rare.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 * 1024, writableHighWaterMark: maxPartBytes });
    this.streamId = streamId;
    this.headers = headers;
    this.#link = link;
    this.sendWindowBytes = sendWindowBytes;
  }

  /** True once either side reset it, or the connection was lost before the peer had finished. */
  get wasReset(): boolean {
    return this.#isReset;
  }

  /** True once the peer sent its last byte. */
  get hasReceivedFin(): boolean {
    return this.#hasReceivedFin;
  }

  /** First value of a header, undefined when absent. Names are lower case. */
  header(name: string): string | undefined {
    return this.headers.get(name)?.[0];
  }

  /** Resolves true when the peer accepted the stream, false when it refused it or went away. */
  replied(): Promise<boolean> {
    if (this.#isReset) return Promise.resolve(false);
    if (this.#isReplied) return Promise.resolve(true);
    return new Promise((resolve) => this.#onReply.push(resolve));
  }

  /** For the session: SYN_REPLY was sent or received. Data waits for it, since Go's peer drops what comes earlier. */
  markReplied(): void {
    this.#isReplied = true;
    for (const tell of this.#onReply.splice(0)) tell(true);
    this.pump();
  }

  /** For the session: bytes of a DATA frame. */
  receive(data: Buffer): void {
    if (this.#hasReceivedFin || this.#isReset || data.length === 0) return;
    if (this.push(data)) {
      this.#link.consumed(this, data.length);
      return;
    }
    this.#unconsumedBytes += data.length;
    this.#link.holdBack(this, true);
  }

  /** For the session: the peer sent FIN. */
  receiveFin(): void {
    if (this.#hasReceivedFin || this.#isReset) return;
    this.#hasReceivedFin = true;
    this.push(null);
    this.#forgetWhenOver();
  }

  /**
   * For the session: RST_STREAM came or was sent, or the connection is gone. Bytes already received can still be read.
   */
  terminate(): void {
    if (this.#isReset) return;
    this.#isReset = true;
    if (!this.#hasReceivedFin) this.push(null);
    this.#letGo();
  }

  /** For the session: tries again to send what waits for a reply or for window. */
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
    // The error is swallowed on purpose: see the first lines of this file.
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
