// One request of the gateway's own code to a member: the probe, fan-out, the index. The member is held back while the
// code that reads the answer is slow; code that stops reading must cancel.
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../cache/model/errors.ts';
import { hostHeader } from '../dial/endpoint-request.ts';
import { headersOf } from './member-request.ts';
import type { OutgoingIdentity } from './member-request.ts';
import type { Target } from './target.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, UpstreamCall } from './transport-types.ts';

/** Answer bytes held for a reader before the member is made to wait. */
const heldAnswerBytes = 64 * 1024;

/** A request of our own to a member; one of a caller is a `MemberRequest` (member-request.ts). */
export interface MemberCall {
  /**
   * As whom: a user that is impersonated, or `self`, the credential alone (rule "no identity, no bytes"). There is no
   * default.
   */
  readonly identity: OutgoingIdentity;
  readonly method: string;
  /** Path and query as the member knows them, with a leading slash; the endpoint's base path is put before it. */
  readonly path: string;
  /** As a client would send them; what may not travel is left out (rule "headers from an empty list"). */
  readonly headers: RawHeaders;
  readonly body?: Buffer | undefined;
  /** Longest wait for the head of the answer, connecting included, milliseconds. */
  readonly timeoutMs: number;
  /** Longest time until the last byte, milliseconds; absent means no end, as a watch needs. */
  readonly wholeTimeoutMs?: number | undefined;
  /** Watches and logs: may use an HTTP/2 session. */
  readonly longRunning: boolean;
  /** Gives the request up; the promise, or the reading of `chunks`, rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Joins the member's audit with ours; a new one when absent. */
  readonly auditId?: string | undefined;
  /** Address of the caller, for `X-Forwarded-For`; '' when it is the gateway itself. */
  readonly peerAddress?: string | undefined;
  /** The probe's: goes past the breaker, which its answer closes, and gets a 401 and a redirect as they came. */
  readonly isProbe?: boolean | undefined;
}

/** What came back. Either read `chunks` to its end or call `cancel`. */
export interface MemberAnswer {
  readonly status: number;
  /** Raw, as received; hop-by-hop and framing headers are still there. */
  readonly headers: RawHeaders;
  /**
   * The body, to be read once. Rejects with a GatewayError when the member broke off; leaving the loop early cancels.
   */
  readonly chunks: AsyncIterable<Buffer>;
  /** Gives the answer up; harmless when it is over. */
  cancel(): void;
}

/**
 * Sends one request and resolves with the head of its answer.
 * @throws GatewayError (rejects) what the breaker and the transport say; MEMBER_TIMEOUT; MEMBER_CREDENTIAL for a 401,
 *   which is about the gateway's credential and makes it look for another; MEMBER_REDIRECT for a 3xx with a Location
 *   (rule "no redirects"); IDENTITY_REFUSED when there is no valid identity to send it as; then nothing was sent
 */
export async function callMember(target: Target, request: MemberCall): Promise<MemberAnswer> {
  request.signal?.throwIfAborted();
  const exchange = new MemberExchange(target, request);
  return await exchange.start(upstreamHeaderList(target, request));
}

/**
 * The whole body as one piece.
 * @throws GatewayError (rejects) MEMBER_BAD_RESPONSE when it is longer than `maxBytes`; the rest is not read then
 */
export async function readWhole(answer: MemberAnswer, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer.chunks) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new GatewayError('MEMBER_BAD_RESPONSE', `the answer is longer than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function upstreamHeaderList(target: Target, request: MemberCall): string[] {
  const parts = {
    inbound: request.headers,
    host: hostHeader(target.record.spec.endpoint!),
    credential: target.credential,
    peerAddress: request.peerAddress ?? '',
    auditId: request.auditId ?? randomUUID(),
    upgrade: false,
  };
  return headersOf(parts, request.identity);
}

class MemberExchange implements ResponseHandler {
  readonly #target: Target;
  readonly #request: MemberCall;
  readonly #head = Promise.withResolvers<MemberAnswer>();
  readonly #onAbort = (): void => this.#giveUp(this.#request.signal?.reason);
  #call: UpstreamCall | undefined;
  #headTimer: NodeJS.Timeout | undefined;
  #wholeTimer: NodeJS.Timeout | undefined;
  #wasSent = false;
  /** The exchange has ended; what is queued may still be read. */
  #over = false;
  #failure: { readonly error: unknown } | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isPaused = false;
  /** The reader waits for the next piece. */
  #wake: (() => void) | undefined;

  constructor(target: Target, request: MemberCall) {
    this.#target = target;
    this.#request = request;
  }

  start(headers: string[]): Promise<MemberAnswer> {
    const { connection, record } = this.#target;
    const { method, path, body, timeoutMs, wholeTimeoutMs, longRunning, signal, isProbe } = this.#request;
    if (isProbe !== true) connection.breaker.enter();
    this.#headTimer = setTimeout(() => this.#timedOut(timeoutMs), timeoutMs);
    if (wholeTimeoutMs !== undefined) {
      this.#wholeTimer = setTimeout(() => this.#timedOut(wholeTimeoutMs), wholeTimeoutMs);
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#call = connection.transport.send(
      {
        method,
        target: record.spec.endpoint!.basePath + path,
        headers,
        body: body?.length ?? 'none',
        longRunning,
      },
      this,
    );
    if (body !== undefined && body.length > 0) this.#call.write(body);
    if (body !== undefined) this.#call.end();
    return this.#head.promise;
  }

  onSent(): void {
    this.#wasSent = true;
    // A connection is not the answer that a probe waits for.
    if (this.#request.isProbe !== true) this.#target.connection.breaker.succeed();
  }

  onHeaders(status: number, headers: RawHeaders): void {
    clearTimeout(this.#headTimer);
    const refusal = this.#request.isProbe === true ? undefined : this.#refusalOf(status, headers);
    if (refusal !== undefined) {
      this.#giveUp(refusal);
      return;
    }
    this.#head.resolve({
      status,
      headers,
      chunks: { [Symbol.asyncIterator]: () => this.#reader() },
      cancel: () => this.#giveUp(new GatewayError('MEMBER_UNAVAILABLE', 'the answer was given up by its reader')),
    });
  }

  #refusalOf(status: number, headers: RawHeaders): GatewayError | undefined {
    const { name: cluster, credential } = this.#target.record.spec;
    if (status === 401) {
      credential?.invalidate();
      return new GatewayError(
        'MEMBER_CREDENTIAL',
        `cluster "${cluster}" refused the gateway's own credential (401): it may have expired; renew it where the gateway reads it`,
        { cluster },
      );
    }
    if (status >= 300 && status < 400 && headers.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'location')) {
      return new GatewayError(
        'MEMBER_REDIRECT',
        `cluster "${cluster}" answered with a redirect (${status}), which is not followed`,
        { cluster },
      );
    }
    return undefined;
  }

  onData(chunk: Buffer): void {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= heldAnswerBytes && !this.#isPaused) {
      this.#isPaused = true;
      this.#call?.pause();
    }
    this.#wakeReader();
  }

  onEnd(): void {
    this.#settle(undefined);
  }

  onError(error: GatewayError): void {
    if (!this.#wasSent && this.#request.isProbe !== true) this.#target.connection.breaker.fail(error);
    this.#settle({ error });
  }

  #timedOut(timeoutMs: number): void {
    const cluster = this.#target.record.spec.name;
    const what = `cluster "${cluster}" sent no answer within ${timeoutMs / 1000} s`;
    this.#giveUp(new GatewayError('MEMBER_TIMEOUT', what, { cluster }));
  }

  /** Ends the member's side now; what was queued is not wanted any more. */
  #giveUp(error: unknown): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    if (this.#over) return;
    this.#call?.abort();
    // Gives back a half-open try; of a breaker that the head has closed nothing is forgotten.
    if (this.#request.isProbe !== true) this.#target.connection.breaker.forget();
    this.#settle({ error });
  }

  #settle(failure: { readonly error: unknown } | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    clearTimeout(this.#headTimer);
    clearTimeout(this.#wholeTimer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    if (failure !== undefined) this.#head.reject(failure.error);
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  async *#reader(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#queue.shift();
        if (chunk !== undefined) {
          this.#queuedBytes -= chunk.length;
          if (this.#isPaused && this.#queuedBytes < heldAnswerBytes) {
            this.#isPaused = false;
            this.#call?.resume();
          }
          yield chunk;
        } else if (!this.#over) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        } else if (this.#failure !== undefined) throw this.#failure.error;
        else return;
      }
    } finally {
      if (!this.#over) this.#giveUp(new GatewayError('MEMBER_UNAVAILABLE', 'the answer was given up by its reader'));
    }
  }
}
