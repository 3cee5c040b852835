// Sends a request of the gateway's own code to a member: for health probes, requests to many clusters and the index.
// There is backpressure: if the answer is read slowly, the member must wait. Code that stops reading before the end
// must call cancel().
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { hostHeader } from '../pools/endpoint-request.ts';
import { credentialRefused, noAnswer, redirected } from '../call/member-faults.ts';
import { headersOf } from './member-request.ts';
import type { OutgoingIdentity } from './member-request.ts';
import type { Target } from './target.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, UpstreamCall } from '../call/transport-types.ts';

/** Bytes of an answer that are buffered; beyond this, reading from the member pauses until the caller has read some. */
const heldAnswerBytes = 64 * 1024;

/** A request of the gateway's own code. A forwarded request of a client is a `MemberRequest` (member-request.ts). */
export interface MemberCall {
  /**
   * The user to impersonate, or `self` to use the gateway's credential without impersonation (rule "no identity, no
   * bytes" in docs/rules.md). There is no default.
   */
  readonly identity: OutgoingIdentity;
  readonly method: string;
  /** Path and query on the member, with a leading slash. The endpoint's base path is added in front. */
  readonly path: string;
  /**
   * Request headers; those that must not be forwarded are dropped (rule "headers from an empty list" in docs/rules.md).
   */
  readonly headers: RawHeaders;
  readonly body?: Buffer | undefined;
  /**
   * Maximum time in milliseconds until the response head, including connecting; then the call rejects with
   * MEMBER_TIMEOUT.
   */
  readonly timeoutMs: number;
  /**
   * Maximum time in milliseconds until the last byte of the answer; then reading fails with MEMBER_TIMEOUT. Undefined
   * for no limit, as for a watch.
   */
  readonly wholeTimeoutMs?: number | undefined;
  /**
   * True for watches and logs. Such a request uses the connections for long-running requests, HTTP/2 where the member
   * speaks it.
   */
  readonly longRunning: boolean;
  /**
   * Aborts the request. The promise of callMember, or the iteration over `chunks`, then rejects with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** Audit-Id to send; undefined makes a new one. */
  readonly auditId?: string | undefined;
  /** Address of the caller for `X-Forwarded-For`; '' or undefined when the request is not for a caller. */
  readonly peerAddress?: string | undefined;
  /**
   * True for the cluster probe. Its request ignores the breaker, and a 401 or a redirect is returned as an ordinary
   * answer.
   */
  readonly isProbe?: boolean | undefined;
}

/** The answer of a member. The caller must read `chunks` to the end or call `cancel`. */
export interface MemberAnswer {
  readonly status: number;
  /** Headers as received, including hop-by-hop and framing headers. */
  readonly headers: RawHeaders;
  /**
   * The body; it can be iterated once. Iteration throws a GatewayError when the member cuts the answer. Leaving the
   * loop early cancels the request.
   */
  readonly chunks: AsyncIterable<Buffer>;
  /** Cancels the request; does nothing when the answer is complete. */
  cancel(): void;
}

/**
 * Sends one request and resolves with the head of the answer.
 * @throws GatewayError (rejects) of the breaker or the transport; MEMBER_TIMEOUT; MEMBER_CREDENTIAL for a 401, which
 *   also discards the cached credential; MEMBER_REDIRECT for a 3xx with Location (rule "no redirects" in
 *   docs/rules.md); IDENTITY_REFUSED when the identity is not valid, and nothing was sent then
 */
export async function callMember(target: Target, request: MemberCall): Promise<MemberAnswer> {
  request.signal?.throwIfAborted();
  const exchange = new MemberExchange(target, request);
  return await exchange.start(upstreamHeaderList(target, request));
}

/** Thrown for an answer that is longer than its reader takes. */
export class AnswerTooLong extends GatewayError {
  constructor(maxBytes: number) {
    super('MEMBER_BAD_RESPONSE', `the answer is longer than ${maxBytes} bytes`);
  }
}

/**
 * Reads the whole body of an answer.
 * @throws AnswerTooLong (rejects) when it is longer than `maxBytes`; the rest is not read
 */
export async function readWhole(answer: MemberAnswer, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer.chunks) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new AnswerTooLong(maxBytes);
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
  /** Whether the exchange with the member has ended. Data in the queue may still be read. */
  #over = false;
  #failure: { readonly error: unknown } | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isPaused = false;
  /** Set while the reader waits for data; calling it makes the reader go on. */
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
    // For a probe, an open connection is not enough to close the breaker: the code of the probe waits for the answer.
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
      cancel: () => this.#giveUp(new GatewayError('MEMBER_UNAVAILABLE', 'the gateway stopped reading the answer')),
    });
  }

  #refusalOf(status: number, headers: RawHeaders): GatewayError | undefined {
    const { name: cluster, credential } = this.#target.record.spec;
    if (status === 401) {
      credential?.invalidate();
      return credentialRefused(cluster);
    }
    if (status >= 300 && status < 400 && headers.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'location')) {
      return redirected(cluster, status);
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
    this.#giveUp(noAnswer(this.#target.record.spec.name, timeoutMs));
  }

  /** Cancels the request to the member and drops data that was not read yet. */
  #giveUp(error: unknown): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    if (this.#over) return;
    this.#call?.abort();
    // Lets another request be the half-open test of the breaker. Has no effect when the breaker is closed.
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
      if (!this.#over) this.#giveUp(new GatewayError('MEMBER_UNAVAILABLE', 'the gateway stopped reading the answer'));
    }
  }
}
