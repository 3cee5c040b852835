// One request to a member, over HTTP/1.1 or HTTP/2. It buffers the request body until a connection takes the call, and
// makes sure that the handler is not called any more after the end. A callback may abort the call, so `over` is checked
// before each one.
import { GatewayError } from '../../model/errors.ts';
import type { ResponseHandler, UpstreamCall, UpstreamRequest } from './transport-types.ts';

/**
 * Maximum number of bytes of request body that are buffered before a connection takes the call; beyond it, write()
 * returns false.
 */
const heldBodyBytes = 64 * 1024;

/** The connection or stream that serves a call. */
export interface Carrier {
  /** Called when the call has body data to send, or its body is complete. */
  flush(): void;
  pause(): void;
  resume(): void;
  /** Destroys the HTTP/1.1 socket or resets the stream, because the call was aborted or its body has a wrong length. */
  discard(): void;
}

/** Lets a call be tried at another endpoint of the cluster while nothing of it was sent. */
export interface Detour {
  /** Called when a connection takes the call. */
  onTaken(): void;
  /**
   * Called when no connection could be opened. Returns undefined when another endpoint is tried, otherwise the error
   * for the handler.
   */
  onFailed(error: GatewayError): GatewayError | undefined;
}

/** One request: the caller uses it as UpstreamCall, the connection code uses the other methods. */
export class Call implements UpstreamCall {
  /** The request as it will be sent. It is replaced for each endpoint that is tried. */
  request: UpstreamRequest;
  readonly handler: ResponseHandler;
  /** The request head as text for HTTP/1.1; set by Http1Client when it accepts the call. */
  head = '';
  /** Whether the call has ended: onEnd or onError was called on the handler, or the caller called abort(). */
  over = false;
  /** Whether the handler's onHeaders was called. */
  answered = false;
  /** Whether the call was already repeated on a new connection (rule "retry only what is safe" in docs/rules.md). */
  retried = false;
  /** Whether the caller has written the whole request body. */
  bodyEnded: boolean;
  carrier: Carrier | undefined;
  /** Lets the call move to another endpoint; undefined for clusters with a single endpoint. */
  detour: Detour | undefined;
  /** Called once when the call is aborted before a connection takes it. */
  onAbandoned: (() => void) | undefined;
  readonly #onBody: ((bytes: number) => void) | undefined;
  #taken = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #bodyBytes = 0;
  #drainOwed = false;

  /** @param onBody called with the number of bytes of each chunk of the answer */
  constructor(request: UpstreamRequest, handler: ResponseHandler, onBody?: (bytes: number) => void) {
    this.request = request;
    this.handler = handler;
    this.#onBody = onBody;
    this.bodyEnded = request.body === 'none' || request.body === 0;
  }

  write(chunk: Buffer): boolean {
    if (this.over || this.answered || chunk.length === 0) return true;
    const { body } = this.request;
    this.#bodyBytes += chunk.length;
    if (typeof body === 'number' && this.#bodyBytes > body) {
      this.#breakFraming('is longer than its Content-Length');
      return true;
    }
    if (this.bodyEnded) return true;
    // A body that has reached its Content-Length is complete; the answer may arrive before end() is called.
    if (this.#bodyBytes === body) this.bodyEnded = true;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    this.carrier?.flush();
    if (this.#heldBytes < heldBodyBytes && !this.#drainOwed) return true;
    this.#drainOwed = true;
    return false;
  }

  end(): void {
    if (this.over || this.answered || this.bodyEnded) return;
    if (typeof this.request.body === 'number' && this.#bodyBytes < this.request.body) {
      this.#breakFraming('is shorter than its Content-Length');
      return;
    }
    this.bodyEnded = true;
    this.carrier?.flush();
  }

  pause(): void {
    if (!this.over) this.carrier?.pause();
  }

  resume(): void {
    if (!this.over) this.carrier?.resume();
  }

  abort(): void {
    if (this.over) return;
    this.over = true;
    this.#release();
  }

  /** Whether the request head can be sent alone, because no body data is buffered or will follow. */
  get bodyless(): boolean {
    return this.bodyEnded && this.#heldBytes === 0;
  }

  /** To be called when a connection takes the call. After this, the call cannot be tried at another endpoint. */
  takenBy(carrier: Carrier): void {
    this.carrier = carrier;
    this.#taken = true;
    this.detour?.onTaken();
  }

  /** Prepares the call to be sent a second time, at any endpoint (rule "retry only what is safe" in docs/rules.md). */
  repeat(): void {
    this.retried = true;
    this.#taken = false;
  }

  /** Returns the buffered body data and empties the buffer; the caller has to send the data. */
  takeBody(): Buffer[] {
    if (this.#heldBytes === 0) return [];
    const body = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return body;
  }

  /** To be called when the connection's buffer is full; write() then returns false. */
  holdBack(): void {
    this.#drainOwed = true;
  }

  /**
   * To be called when the connection can take data again, or when the rest of the body is not needed. Calls onDrain if
   * write() had returned false.
   */
  drained(): void {
    if (!this.#drainOwed) return;
    this.#drainOwed = false;
    if (!this.over) this.handler.onDrain?.();
  }

  deliverHeaders(status: number, headers: string[]): void {
    if (this.over) return;
    this.answered = true;
    this.#held = [];
    this.#heldBytes = 0;
    this.handler.onHeaders(status, headers);
    // After the answer's head no more of the request body is sent, so a caller that waits for onDrain must not wait
    // longer.
    this.drained();
  }

  deliverData(chunk: Buffer): void {
    if (this.over) return;
    this.#onBody?.(chunk.length);
    this.handler.onData(chunk);
  }

  finish(): void {
    if (this.over) return;
    this.over = true;
    this.carrier = undefined;
    this.handler.onEnd();
  }

  /**
   * Fails the call in the next tick, after send() has returned: the caller then has the call object when onError is
   * called.
   */
  failSoon(error: GatewayError): void {
    process.nextTick(() => this.fail(error));
  }

  fail(error: GatewayError): void {
    if (this.over) return;
    const reported = this.detour === undefined || this.#taken ? error : this.detour.onFailed(error);
    if (reported === undefined) return;
    this.over = true;
    this.carrier = undefined;
    this.handler.onError(reported, this.answered);
  }

  /**
   * Fails a call whose body does not match its Content-Length. The connection is cut, so that the member cannot take
   * the request for complete.
   */
  #breakFraming(what: string): void {
    const error = new GatewayError('BAD_REQUEST', `the request body ${what}`);
    this.over = true;
    this.#release();
    process.nextTick(() => this.handler.onError(error, this.answered));
  }

  #release(): void {
    const { carrier, onAbandoned } = this;
    this.carrier = undefined;
    this.onAbandoned = undefined;
    this.#held = [];
    if (carrier !== undefined) carrier.discard();
    else onAbandoned?.();
  }
}
