// The `Inbound` object for one request of an HTTP/1.1 connection, which the listener passes on. An answer may begin
// before the request body was read; the connection then reads and drops the body before it closes.
import type { Duplex } from 'node:stream';
import type { BodyFraming, BodyReader, Inbound, InboundUpgrade } from '../inbound.ts';
import { HttpFault } from '../http-fault.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { Http1Answer, answerHead } from './http1-answer.ts';
import type { Http1Head } from './http1-parser.ts';
import { endLingering } from '../linger.ts';

/** What a request uses of the connection it arrived on. */
export interface RequestCarrier {
  readonly socket: Duplex;
  /** Starts reading the body. The first call also sends `100 Continue` if the client expects it. */
  readBody(reader: BodyReader): void;
  pauseBody(): void;
  resumeBody(): void;
  /** Called when the answer begins. Returns true when the connection must close after this answer. */
  endsWithAnswer(): boolean;
  /** Called when the kernel has taken the whole answer, or with the error of the socket. */
  readonly answered: (error?: Error | null) => void;
}

/** An ordinary request of HTTP/1.1 or HTTP/1.0. */
export class Http1Inbound implements Inbound {
  readonly protocol: 'HTTP/1.1' | 'HTTP/1.0';
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  answered = false;
  closed = false;
  /**
   * Whether the whole answer was written. If the client disconnects afterwards, the exchange does not count as aborted.
   */
  ended = false;
  readonly #carrier: RequestCarrier;
  #answer: Http1Answer | undefined;
  #aborted = false;
  #drainListener: (() => void) | undefined;
  #closeListeners: ((aborted: boolean) => void)[] = [];

  constructor(head: Http1Head, body: BodyFraming, carrier: RequestCarrier) {
    this.protocol = head.version === 'HTTP/1.0' ? 'HTTP/1.0' : 'HTTP/1.1';
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.body = body;
    this.#carrier = carrier;
  }

  readBody(reader: BodyReader): void {
    if (!this.closed) this.#carrier.readBody(reader);
  }

  pauseBody(): void {
    if (!this.closed) this.#carrier.pauseBody();
  }

  resumeBody(): void {
    if (!this.closed) this.#carrier.resumeBody();
  }

  respond(status: number, headers: RawHeaders, bodyless: boolean): void {
    if (this.answered || this.closed) return;
    const head = answerHead(status, headers, bodyless, this.#carrier.endsWithAnswer());
    // HTTP/1.0 has no chunked coding. Without a Content-Length, the body would end where the connection ends, and the
    // client could not see whether it was cut.
    if (head.body === 'chunked' && this.protocol === 'HTTP/1.0')
      throw new HttpFault('INTERNAL', 'this answer has no Content-Length, which HTTP/1.0 needs; it was not sent');
    this.answered = true;
    this.#answer = new Http1Answer(this.#carrier.socket, head, bodyless, this.#carrier.answered, () =>
      this.#drainListener?.(),
    );
  }

  write(chunk: Buffer): boolean {
    const answer = this.#answer;
    if (answer === undefined || this.closed || this.ended) return true;
    const more = answer.write(chunk);
    if (more === undefined) this.abort();
    return more ?? true;
  }

  /** Ends the answer. When it is shorter than its Content-Length, the connection is cut, so that the client notices. */
  end(): void {
    const answer = this.#answer;
    if (answer === undefined || this.closed || this.ended) return;
    if (!answer.whole) {
      this.abort();
      return;
    }
    this.ended = true;
    answer.end();
  }

  abort(): void {
    this.#aborted = true;
    if (!this.closed) this.#carrier.socket.destroy();
  }

  /** To be called when the socket emits 'drain'. Calls the onDrain listener if write() has returned false. */
  drained(): void {
    if (!this.ended) this.#answer?.drained();
  }

  /** Called by the connection when the exchange is over. */
  finish(aborted: boolean): void {
    if (this.closed) return;
    this.closed = true;
    this.#aborted = aborted;
    this.#answer?.stop();
    for (const listener of this.#closeListeners) listener(aborted);
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  onClose(listener: (aborted: boolean) => void): void {
    if (!this.closed) this.#closeListeners.push(listener);
    else listener(this.#aborted);
  }
}

/** A request that offers a served upgrade. It owns the socket, and the answer is written straight to the socket. */
export class Http1UpgradeInbound implements InboundUpgrade {
  readonly protocol = 'HTTP/1.1';
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body = 'none';
  readonly socket: Duplex;
  readonly early: Buffer;
  answered = false;
  closed = false;
  #closeListeners: ((aborted: boolean) => void)[] = [];
  #finished = false;

  constructor(head: Http1Head, socket: Duplex, early: Buffer) {
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.socket = socket;
    this.early = early;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.closed) return;
      this.closed = true;
      for (const listener of this.#closeListeners) listener(!this.#finished);
    });
  }

  readBody(): void {}
  pauseBody(): void {}
  resumeBody(): void {}

  respond(status: number, headers: RawHeaders): void {
    if (this.answered || this.closed) return;
    const { text } = answerHead(status, headers, true, true);
    this.answered = true;
    this.socket.write(text, 'latin1');
  }

  write(chunk: Buffer): boolean {
    return this.closed || this.socket.write(chunk);
  }

  /**
   * Ends the answer to a refused upgrade. The connection closes too, so that bytes after the request cannot be read as
   * another request.
   */
  end(): void {
    this.#finished = true;
    endLingering(this.socket);
  }

  abort(): void {
    this.socket.destroy();
  }

  onDrain(listener: () => void): void {
    this.socket.on('drain', listener);
  }

  onClose(listener: (aborted: boolean) => void): void {
    if (!this.closed) this.#closeListeners.push(listener);
    else listener(!this.#finished);
  }
}
