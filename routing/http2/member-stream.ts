// Joins one HTTP/2 stream and one call. Easy to get wrong: Node ends a readable stream in the same way for END_STREAM
// and for a reset with NO_ERROR, so a cut watch would look complete; only the order of two events tells them apart (see
// #watchForEnd).
import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Call, Carrier } from '../members/call.ts';
import { badResponse, fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { checkRequest, refuseFramingHeaders } from '../http1/request-head.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { UpstreamRequest } from '../members/transport-types.ts';

/** Interim (1xx) responses ignored before the final one. */
const maxInterimHeads = 32;

/**
 * The header list of a request: pseudo headers, then the given ones in lower case, repeats kept apart. Node marks
 * `authorization` as never to be indexed by itself (RFC 7541 section 7.1.3).
 * @throws GatewayError INTERNAL when any part could change the meaning of the request
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

/** Hears how a stream ended. */
export interface StreamOwner {
  /** The stream no longer counts. Called once. */
  onClosed(): void;
  /** The answer broke off; `unprocessed` when the member says that it did not begin with the request. */
  onBroken(call: Call, error: GatewayError, unprocessed: boolean): void;
}

/** Carries one call on a stream of its own. */
export class Http2Stream implements Carrier {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #call: Call;
  readonly #member: MemberLabel;
  readonly #owner: StreamOwner;
  /** Resets a stream whose body is not complete. */
  readonly #cut: AbortController | undefined;
  #interimHeads = 0;
  #left = false;
  /** The member closed its side in an orderly way. */
  #sawEnd = false;
  #fault: unknown;

  /** @throws Error when the session cannot take a stream any more; nothing was sent then */
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
   * END_STREAM arrives as the end of the readable side while the stream is open; a reset first closes the stream and
   * then ends the readable side. Both then emit 'end' in the same way.
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

  /** close() would first end the body properly: a cut upload would look complete to the member. Destroying does not. */
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

  /** A fault of our own code ends this one request, not the process; its cause is logged with the request. */
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
    // The rest of a request body is not wanted any more.
    if (!this.#stream.writableEnded) this.#reset();
    this.#leave();
    this.#call.finish();
  }

  /** The stream no longer counts; there is room for another before the caller hears of the end. */
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

/** Errors that Node makes of a reset say no more than its code. */
function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_HTTP2_STREAM_ERROR';
}
