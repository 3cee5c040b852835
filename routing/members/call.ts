// One request on its way to a member, over either protocol: holds what the caller already wrote until a connection
// takes it, and guards every callback. A call may be aborted inside any of its own callbacks, so `over` is looked at
// before each of them.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ResponseHandler, UpstreamCall, UpstreamRequest } from './transport-types.ts';

/** Request body bytes held while no connection has taken the call; beyond it write() asks to wait. */
const heldBodyBytes = 64 * 1024;

/** What a call needs from the connection that serves it. */
export interface Carrier {
  /** The call has something to write, or its body is complete. */
  flush(): void;
  pause(): void;
  resume(): void;
  /** Destroys the socket: the call was given up or broke its own framing. */
  discard(): void;
}

/** Where a call can go instead while nothing of it was sent. */
export interface Detour {
  /** A connection takes the call. */
  onTaken(): void;
  /** No connection was to be had: undefined when the call goes to another endpoint now, else the error to report. */
  onFailed(error: GatewayError): GatewayError | undefined;
}

/** The caller's end and the connection's end of one request. */
export class Call implements UpstreamCall {
  /** As it goes out; another one for each endpoint, until a connection took the call. */
  request: UpstreamRequest;
  readonly handler: ResponseHandler;
  /** The head as HTTP/1.1 writes it; set by the client that takes the call. */
  head = '';
  /** onEnd or onError was called, or abort(). */
  over = false;
  /** onHeaders was called. */
  answered = false;
  /** Already repeated once on a fresh connection (rule "retry only what is safe"). */
  retried = false;
  /** Everything the caller will write was written. */
  bodyEnded: boolean;
  carrier: Carrier | undefined;
  /** With several endpoints only. */
  detour: Detour | undefined;
  /** Called once when the call is given up before a connection took it. */
  onAbandoned: (() => void) | undefined;
  readonly #onBody: ((bytes: number) => void) | undefined;
  #taken = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #bodyBytes = 0;
  #drainOwed = false;

  /** @param onBody called with the number of bytes of each piece of the answer */
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
    // The request counts as sent with its last byte: the answer may come before end() is called.
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

  /** Whether the head can go out by itself: nothing of a body waits or will come. */
  get bodyless(): boolean {
    return this.bodyEnded && this.#heldBytes === 0;
  }

  /** A connection serves the call from now on: it may not go anywhere else. */
  takenBy(carrier: Carrier): void {
    this.carrier = carrier;
    this.#taken = true;
    this.detour?.onTaken();
  }

  /**
   * The one repeat (rule "retry only what is safe"): the call looks for a connection once more, wherever there is one.
   */
  repeat(): void {
    this.retried = true;
    this.#taken = false;
  }

  /** Body pieces not handed over yet, which are the connection's from now on. */
  takeBody(): Buffer[] {
    if (this.#heldBytes === 0) return [];
    const body = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return body;
  }

  /** The connection buffers too much: the next thing write() says is to wait. */
  holdBack(): void {
    this.#drainOwed = true;
  }

  /** The connection has room again, or the rest of the body is not wanted any more. */
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
    // A caller that waits for onDrain would wait for ever: nothing more is sent once the answer is there.
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

  /** For faults found before send() returned: the caller first gets the call in hand. */
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

  /** The member must see a cut request, never one that looks complete. */
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
