// One HTTP/1.1 connection to a member. It sends one request at a time, with as few writes as possible, and reads the
// answer. The connection is used for another request only if request and response were both complete and no extra byte
// was received.
import type { Socket } from 'node:net';
import type { GatewayError } from '../../model/errors.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import type { Carrier, Call } from '../call/call.ts';
import { readDirectly } from '../../http/direct-read.ts';
import { badResponse, errorCode, fail, memberFault } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { ResponseParser } from '../dial/response-parser.ts';
import type { ResponseSink } from '../dial/response-parser.ts';

/** Callbacks with which a connection reports to its pool. */
export interface ConnectionOwner {
  /** Called when the response has ended and the connection can be used for another request. */
  onIdle(connection: Http1Connection): void;
  /** Called once, when the socket is closed. */
  onClosed(connection: Http1Connection): void;
  /**
   * Called when the connection failed during a call. `untouched` is true when the connection had been used before and
   * no byte of the answer was received.
   */
  onBroken(call: Call, error: GatewayError, untouched: boolean): void;
}

/**
 * Milliseconds to wait for an answer after the member has stopped reading the request. Then the socket is destroyed.
 */
const lateAnswerMs = 1_000;

const endOfChunks = Buffer.from('0\r\n\r\n', 'latin1');

/** Sends requests on a connected socket, one at a time. */
export class Http1Connection implements Carrier, ResponseSink {
  /** When the connection became idle, as `performance.now()`. */
  idleSinceMs = 0;
  readonly #socket: Socket;
  readonly #member: MemberLabel;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #call: Call | undefined;
  #served = 0;
  #headSent = false;
  #requestSent = false;
  #paused = false;
  #surviving = false;
  /** Set when writing has failed: the timer after which the socket is destroyed without an answer. */
  #deaf: NodeJS.Timeout | undefined;
  #flushing: NodeJS.Immediate | undefined;

  constructor(socket: Socket, member: MemberLabel, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#member = member;
    this.#owner = owner;
    this.#parser = new ResponseParser(this);
    readDirectly(socket, (chunk) => this.#onData(chunk));
    socket.on('drain', () => this.#call?.drained());
    socket.on('end', () => this.#onEnd());
    socket.on('error', (error) => this.#break(memberFault(error, member, 'request')));
    socket.on('close', () => this.#onClose());
    socket.resume();
  }

  /** Whether the socket can still be used; only meaningful while the connection is idle. */
  get usable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && !this.#socket.readableEnded;
  }

  get busy(): boolean {
    return this.#call !== undefined;
  }

  /** Sends a request. The connection must be idle and usable. */
  begin(call: Call): void {
    const reused = this.#served > 0;
    this.#served++;
    this.#call = call;
    call.takenBy(this);
    this.#headSent = false;
    this.#requestSent = false;
    this.#parser.begin(call.request.method === 'HEAD' ? 'head' : 'plain');
    // An empty chunked body still needs its final chunk. Without it, the next request would be read as a chunk.
    if (call.bodyless && call.request.body !== 'chunked') {
      this.#headSent = true;
      this.#requestSent = true;
      this.#socket.write(call.head, 'latin1');
    } else {
      this.flush();
      // Body data usually follows in the same turn of the event loop and is sent together with the head. If none does,
      // the head is sent alone.
      if (!this.#headSent) this.#flushing = setImmediate(() => this.#sendHead());
    }
    call.handler.onSent?.(reused);
  }

  flush(): void {
    const call = this.#call;
    if (call === undefined || call.answered || this.#requestSent || this.#deaf !== undefined) return;
    const body = call.takeBody();
    if (body.length === 0 && !call.bodyEnded) return;
    const pieces: Buffer[] = [];
    if (!this.#headSent) pieces.push(Buffer.from(call.head, 'latin1'));
    this.#headSent = true;
    clearImmediate(this.#flushing);
    const chunked = call.request.body === 'chunked';
    for (const piece of body) {
      if (chunked) pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1'), piece, lineEnd);
      else pieces.push(piece);
    }
    if (call.bodyEnded) {
      this.#requestSent = true;
      if (chunked) pieces.push(endOfChunks);
    }
    if (pieces.length === 0) return;
    this.#surviveWriteFaults();
    if (!this.#socket.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))) call.holdBack();
    else call.drained();
  }

  /**
   * Makes the socket readable after a failed write. A member may answer early (for example 413) and close while the
   * request is still being sent. Node then destroys the socket, and an answer already received by the kernel is lost.
   * So destroy() is delayed, and received data is taken from push(), because a stream emits nothing after an error.
   */
  #surviveWriteFaults(): void {
    if (this.#surviving) return;
    this.#surviving = true;
    const socket = this.#socket;
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: Error) => {
      if (!isWriteFault(error) || this.#call === undefined || this.#deaf !== undefined) return destroy(error);
      this.#deaf = setTimeout(() => destroy(error), lateAnswerMs);
      socket.push = (chunk: Buffer | null) => {
        if (chunk === null) this.#onEnd();
        else this.#onData(chunk);
        return true;
      };
      this.#call.drained();
      return socket;
    };
  }

  #sendHead(): void {
    const call = this.#call;
    if (call === undefined || this.#headSent || call.answered) return;
    this.#headSent = true;
    this.#socket.write(call.head, 'latin1');
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  discard(): void {
    this.close();
  }

  /** Destroys the socket at once. A call in progress is not notified. */
  close(): void {
    this.#call = undefined;
    clearImmediate(this.#flushing);
    this.#socket.destroy();
  }

  /** Destroys the socket and fails the call in progress with this error. */
  abort(error: GatewayError): void {
    const call = this.#call;
    this.close();
    call?.fail(error);
  }

  onHeaders(status: number, headers: string[]): void {
    this.#call?.deliverHeaders(status, headers);
  }

  onData(chunk: Buffer): void {
    this.#call?.deliverData(chunk);
  }

  #onData(chunk: Buffer): void {
    const call = this.#call;
    if (call === undefined) {
      // No request is waiting for an answer, so these bytes would be read as the answer to the next request.
      this.#socket.destroy();
      return;
    }
    let used: number;
    try {
      used = this.#parser.push(chunk);
    } catch (error) {
      this.#break(this.#pushFault(error));
      return;
    }
    if (this.#parser.complete && this.#call === call) this.#complete(call, used === chunk.length);
  }

  /**
   * Makes the error for an exception that was thrown while received data was handled. A bug in the gateway's own code
   * must fail only this request and must not crash the process; the cause is logged with the request.
   */
  #pushFault(error: unknown): GatewayError {
    if (error instanceof ResponseFault) return badResponse(error.message, this.#member);
    return fail('INTERNAL', 'the gateway failed while it passed on the response', this.#member, error);
  }

  /**
   * Ends the call. The connection is given back to the pool before the handler's onEnd is called, so that a request
   * sent from within onEnd can use it.
   */
  #complete(call: Call, exact: boolean): void {
    this.#call = undefined;
    clearImmediate(this.#flushing);
    if (exact && this.#requestSent && this.#parser.keepAlive && this.usable) {
      this.resume();
      this.#owner.onIdle(this);
    } else {
      this.#socket.destroy();
    }
    call.finish();
  }

  #onEnd(): void {
    const call = this.#call;
    if (call === undefined) {
      this.#socket.destroy();
      return;
    }
    if (this.#parser.finish()) this.#complete(call, false);
    else this.#break(this.#cutOff());
  }

  #onClose(): void {
    clearTimeout(this.#deaf);
    this.#break(this.#cutOff());
    this.#owner.onClosed(this);
  }

  #cutOff(): GatewayError {
    const { address } = this.#member;
    const when = this.#parser.started ? 'in the middle of its answer' : 'without an answer';
    return fail('MEMBER_UNAVAILABLE', `${address} closed the connection ${when}`, this.#member, undefined);
  }

  #break(error: GatewayError): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#call = undefined;
    call.carrier = undefined;
    clearImmediate(this.#flushing);
    this.#socket.destroy();
    this.#owner.onBroken(call, error, this.#served > 1 && !this.#parser.started);
  }
}

/** Whether the error means that the member closed or reset the connection while the gateway was writing. */
function isWriteFault(error: Error | undefined): boolean {
  if (error === undefined || !('syscall' in error) || error.syscall !== 'write') return false;
  const code = errorCode(error);
  return code === 'EPIPE' || code === 'ECONNRESET';
}

const lineEnd = Buffer.from('\r\n', 'latin1');
