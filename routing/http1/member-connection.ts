// One HTTP/1.1 connection to a member: writes one request at a time in as few pieces as possible and reads its answer.
// It serves another request only when request and response were both complete and not one byte came beyond.
import type { Socket } from 'node:net';
import type { GatewayError } from '../../cache/model/errors.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import type { Carrier, Call } from '../members/call.ts';
import { readDirectly } from '../../http/direct-read.ts';
import { badResponse, errorCode, fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { ResponseParser } from './response-parser.ts';
import type { ResponseSink } from './response-parser.ts';

/** Hears what becomes of a connection. */
export interface ConnectionOwner {
  /** The response ended and the connection can serve another request. */
  onIdle(connection: Http1Connection): void;
  /** The socket is gone; called once. */
  onClosed(connection: Http1Connection): void;
  /**
   * The connection broke while a call was on it; `untouched` when it served others before and not one byte of the
   * answer came.
   */
  onBroken(call: Call, error: GatewayError, untouched: boolean): void;
}

/** How long an answer may take that was sent before the member stopped reading. */
const lateAnswerMs = 1_000;

const endOfChunks = Buffer.from('0\r\n\r\n', 'latin1');

/** Owns the socket from the moment it is connected. */
export class Http1Connection implements Carrier, ResponseSink {
  /** `performance.now()` when it became idle. */
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
  /** Set once the member takes no more: the time left for its answer. */
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

  /** Whether the socket looks alive; only meaningful while idle. */
  get usable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && !this.#socket.readableEnded;
  }

  get busy(): boolean {
    return this.#call !== undefined;
  }

  /** Starts a request; the connection is idle and usable. */
  begin(call: Call): void {
    const reused = this.#served > 0;
    this.#served++;
    this.#call = call;
    call.takenBy(this);
    this.#headSent = false;
    this.#requestSent = false;
    this.#parser.begin(call.request.method === 'HEAD' ? 'head' : 'plain');
    // An empty chunked body has an end of its own, without which the next request would be read as a chunk of it.
    if (call.bodyless && call.request.body !== 'chunked') {
      this.#headSent = true;
      this.#requestSent = true;
      this.#socket.write(call.head, 'latin1');
    } else {
      this.flush();
      // The first piece of the body usually comes in the same turn; if not, the head goes alone.
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
   * A member may answer early (413) and close while we still write. Node destroys a socket whose write failed, and with
   * it the answer that already lies in the kernel. Here such a fault only ends the writing; reading goes on, past the
   * stream, which emits nothing once it saw a fault.
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

  /** Destroys the socket at once. A call on it hears nothing of it. */
  close(): void {
    this.#call = undefined;
    clearImmediate(this.#flushing);
    this.#socket.destroy();
  }

  /** Destroys the socket and ends the call on it with this error. */
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
      // Bytes without a request: they would be read as the answer to the next one.
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

  /** A fault of our own code ends this one request, not the process; its cause is logged with the request. */
  #pushFault(error: unknown): GatewayError {
    if (error instanceof ResponseFault) return badResponse(error.message, this.#member);
    return fail('INTERNAL', 'the gateway failed while it passed on the response', this.#member, error);
  }

  /** The connection is free before the caller hears of the end, so that a request sent from within onEnd finds it. */
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

/** The member closed or reset the connection while we wrote. */
function isWriteFault(error: Error | undefined): boolean {
  if (error === undefined || !('syscall' in error) || error.syscall !== 'write') return false;
  const code = errorCode(error);
  return code === 'EPIPE' || code === 'ECONNRESET';
}

const lineEnd = Buffer.from('\r\n', 'latin1');
