// Sends one call on one HTTP/2 stream. Easy to get wrong: Node ends a readable stream in the same way for END_STREAM
// and for a reset with NO_ERROR, so a cut watch would look complete. Only the order of two events shows the difference
// (see #watchForEnd).
import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { GatewayError } from '../../model/errors.ts';
import type { Call, Carrier } from '../call/call.ts';
import { badResponse, fail, memberFault } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { checkRequest, refuseFramingHeaders } from '../http1/request-head.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { UpstreamRequest } from '../call/transport-types.ts';

/**
 * Maximum number of interim (1xx) responses before the final one, which are skipped. After more of them the response is
 * refused.
 */
const maxInterimHeads = 32;

/**
 * Makes the header list of an HTTP/2 request: pseudo-headers first, then the headers in lower case; repeated headers
 * stay separate. Node itself marks `authorization` as never indexed (RFC 7541 section 7.1.3).
 * @throws GatewayError INTERNAL when a part is not valid
 */
export function requestHeaders(request: UpstreamRequest, scheme: string): string[] {
  checkRequest(request);
  refuseFramingHeaders(request.headers);
  const { method, target, headers, body } = request;
  const list = [':method', method, ':scheme', scheme, ':authority', headers[1]!, ':path', target];
  for (let i = 2; i < headers.length; i += 2) list.push(headers[i]!.toLowerCase(), headers[i + 1]!);
  if (typeof body === 'number') list.push('content-length', String(body));
  return list;
}

const bodyless = { endStream: true } as const;

/** Callbacks with which a stream reports to its session. */
export interface StreamOwner {
  /** Called once, when the stream has ended and no longer counts against the session's limit. */
  onClosed(): void;
  /**
   * Called when the stream broke before the answer was complete. `unprocessed` is true when the member says that it did
   * not begin to process the request.
   */
  onBroken(call: Call, error: GatewayError, unprocessed: boolean): void;
}

/** Sends one call on its own stream. */
export class Http2Stream implements Carrier {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #call: Call;
  readonly #member: MemberLabel;
  readonly #owner: StreamOwner;
  /** Aborting it resets the stream while the request body is incomplete; undefined for a request without a body. */
  readonly #cut: AbortController | undefined;
  #interimHeads = 0;
  #left = false;
  /** Whether the member ended its side with END_STREAM. */
  #sawEnd = false;
  #fault: unknown;

  /**
   * Opens a stream and sends the request head.
   * @throws Error when the session cannot open a stream; nothing was sent then
   */
  constructor(
    session: ClientHttp2Session,
    list: readonly string[],
    call: Call,
    member: MemberLabel,
    owner: StreamOwner,
  ) {
    this.#session = session;
    this.#call = call;
    this.#member = member;
    this.#owner = owner;
    this.#cut = call.bodyless ? undefined : new AbortController();
    this.#stream = session.request(list, call.bodyless ? bodyless : { endStream: false, signal: this.#cut!.signal });
    this.#watchForEnd();
    this.#stream
      .on('response', (_headers, _flags, raw: string[]) => this.#onHeaders(raw))
      .on('headers', () => this.#onInterim())
      .on('data', (chunk: Buffer) => this.#deliver(() => call.deliverData(chunk)))
      .on('end', () => this.#onEnd())
      .on('drain', () => call.drained())
      .on('error', (error) => {
        this.#fault = error;
      })
      .on('close', () => this.#onClose());
    call.takenBy(this);
  }

  /**
   * Detects END_STREAM. With END_STREAM, the readable side ends while the stream is still open. With a reset, the
   * stream is closed before. The 'end' event is the same in both cases.
   */
  #watchForEnd(): void {
    const stream = this.#stream;
    const push = stream.push.bind(stream);
    stream.push = (chunk, encoding) => {
      if (chunk === null && !stream.closed) this.#sawEnd = true;
      return push(chunk, encoding);
    };
  }

  flush(): void {
    const stream = this.#stream;
    const call = this.#call;
    if (call.answered || !stream.writable) return;
    let room = true;
    for (const piece of call.takeBody()) room = stream.write(piece);
    if (call.bodyEnded) stream.end();
    if (room) call.drained();
    else call.holdBack();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  discard(): void {
    this.#reset();
  }

  /**
   * Resets the stream. While the request body is incomplete, close() must not be used: it would first end the body
   * regularly, and the member would take a cut upload for a complete one.
   */
  #reset(): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (stream.writableEnded || this.#cut === undefined) stream.close(constants.NGHTTP2_CANCEL);
    else this.#cut.abort();
  }

  #onInterim(): void {
    this.#interimHeads++;
    if (this.#interimHeads > maxInterimHeads) this.#refuse('it sent too many interim (1xx) responses');
  }

  #onHeaders(raw: RawHeaders): void {
    let status = 0;
    const headers: string[] = [];
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!;
      if (name === ':status') status = Number(raw[i + 1]);
      else if (!name.startsWith(':')) headers.push(name, raw[i + 1]!);
    }
    if (!(status >= 200 && status <= 599)) {
      this.#refuse('its status code is not between 200 and 599');
      return;
    }
    this.#deliver(() => this.#call.deliverHeaders(status, headers));
  }

  /**
   * Calls `handOver`, which passes data to the caller's handler. An exception there, a bug of the gateway, fails only
   * this request and does not crash the process; the cause is logged with the request.
   */
  #deliver(handOver: () => void): void {
    try {
      handOver();
    } catch (error) {
      this.#give(fail('INTERNAL', 'the gateway failed while it passed on the response', this.#member, error));
    }
  }

  #refuse(detail: string): void {
    this.#give(badResponse(detail, this.#member));
  }

  #give(error: GatewayError): void {
    this.#reset();
    this.#call.fail(error);
  }

  #onEnd(): void {
    if (!this.#sawEnd) return;
    // The answer is complete, so the rest of the request body is not needed.
    if (!this.#stream.writableEnded) this.#reset();
    this.#leave();
    this.#call.finish();
  }

  /**
   * Reports once to the session that the stream has ended. This happens before the caller is notified, so that the
   * caller can open another stream at once.
   */
  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#owner.onClosed();
  }

  #onClose(): void {
    this.#leave();
    const call = this.#call;
    if (call.over) return;
    const unprocessed = !call.answered && this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    call.carrier = undefined;
    this.#owner.onBroken(call, this.#lost(), unprocessed);
  }

  #lost(): GatewayError {
    const { address } = this.#member;
    const { rstCode } = this.#stream;
    if (this.#fault !== undefined && !isReset(this.#fault)) return memberFault(this.#fault, this.#member, 'request');
    const when = this.#call.answered ? 'in the middle of its answer' : 'without an answer';
    const what = this.#session.destroyed
      ? `${address} closed the connection ${when}`
      : `${address} reset the stream ${when} (code ${rstCode})`;
    return fail('MEMBER_UNAVAILABLE', what, this.#member, this.#fault);
  }
}

/** Whether the error is the one Node makes for a reset; it contains no more than the reset code. */
function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_HTTP2_STREAM_ERROR';
}
