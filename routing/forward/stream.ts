// Forwards one ordinary request (not an upgrade): sends it, streams the answer back, and records how it ended. When the
// member cuts its answer, the client's answer is cut too, as the rule "no redirects" in docs/rules.md requires: end()
// is called only after the member's onEnd.
import { GatewayError } from '../../model/errors.ts';
import { eventBoundary } from './event-boundary.ts';
import type { EventBoundary } from './event-boundary.ts';
import type { Inbound } from '../../http/inbound.ts';
import { challengesOf, relayedHeaders } from './headers.ts';
import type { RelayedHeaders } from './headers.ts';
import { lastWordsMs } from './last-words.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import { refusedImpersonation } from './warning.ts';
import type { Breaker } from '../call/breaker.ts';
import { credentialRefused, noAnswer, redirected } from '../call/member-faults.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, Transport, UpstreamCall, UpstreamRequest } from '../call/transport-types.ts';

/**
 * Progress of one request, which other steps of the chain read. Plain fields instead of methods, because this code is
 * performance-critical. Times are `performance.now()` in milliseconds; 0 means that the event has not happened.
 */
export interface Progress {
  sentAtMs: number;
  firstByteAtMs: number;
  bytesIn: number;
  bytesOut: number;
  status: number;
  /** How the request ended; 'open' until then. */
  ending: 'open' | 'complete' | 'client-gone' | 'member-broke-off' | 'drained';
  /** Called when the response head is sent to the client; `status` is set then. */
  onAnswering?: (() => void) | undefined;
  /** Ends the request on demand, for example when a token has expired; set only for long-running requests. */
  open?: OpenStream;
  /** As {@link OpenStream.blockedSinceMs}; undefined until the client is slow for the first time. */
  blockedSinceMs?: number;
}

/** Everything that forwardStream needs. It does not contain the caller's own credential. */
export interface Forwarding {
  readonly clusterName: string;
  readonly clusterUid: string;
  readonly inbound: Inbound;
  readonly request: UpstreamRequest;
  readonly transport: Transport;
  readonly breaker: Breaker;
  readonly openStreams: OpenStreams;
  readonly progress: Progress;
  /** An object whose `error` is set to the reason when the gateway itself ends the request, for example in a drain. */
  readonly outcome?: { error: unknown };
  /** The request body, if it has been read from `inbound` already; undefined when it is still to be read. */
  readonly body?: Buffer | undefined;
  /** Called with each chunk of the request body. */
  readonly onBody?: ((chunk: Buffer) => void) | undefined;
  /** The gateway's Audit-Id, sent to the client in place of the member's. */
  readonly auditId: string;
  /** Whether the request is a watch, which a drain may end between two events. */
  readonly isWatch: boolean;
  /**
   * Maximum time in milliseconds until the first byte of the answer to a short request; then the request fails with
   * MEMBER_TIMEOUT.
   */
  readonly firstByteTimeoutMs: number;
  /**
   * Rewrites the Location of a redirect so that it stays below the gateway's path. If it returns undefined, the
   * redirect is refused (rule "no redirects" in docs/rules.md).
   */
  readonly rewriteLocation: (location: string) => string | undefined;
  /**
   * Whether the answer needs `Content-Security-Policy: sandbox`, so that a browser cannot run it with the gateway's own
   * origin.
   */
  readonly sandboxes: (answer: RelayedHeaders) => boolean;
  /** Called when the member answered 401, so that it refused the gateway's credential. */
  readonly onCredentialRefused: () => void;
  /**
   * Whether the request goes to an application through the API server's proxy. A 401 then comes from the application
   * and says nothing about the gateway's credential.
   */
  readonly isApplication: boolean;
}

/**
 * Bytes of the body of a 403 that are buffered to search them for a refused impersonation. A longer body is forwarded
 * from there on without waiting for its end.
 */
const refusalBytes = 16 * 1024;

/**
 * Forwards one request.
 * @param fail called at most once, with a GatewayError, and only if no answer was begun; a later error cuts the
 * client's answer
 */
export function forwardStream(forwarding: Forwarding, fail: (error: unknown) => void): void {
  new StreamRun(forwarding, fail).start();
}

class StreamRun implements ResponseHandler, OpenStream {
  readonly #forwarding: Forwarding;
  readonly #inbound: Inbound;
  readonly #progress: Progress;
  readonly #unanswered: (error: unknown) => void;
  place = -1;
  #call: UpstreamCall | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #settled = false;
  #answering = false;
  #boundary: EventBoundary | undefined;
  #draining = false;
  #lastEvent: Buffer | undefined;
  #held:
    | { readonly status: number; readonly headers: RawHeaders; readonly chunks: Buffer[]; bytes: number }
    | undefined;

  constructor(forwarding: Forwarding, unanswered: (error: unknown) => void) {
    this.#forwarding = forwarding;
    this.#inbound = forwarding.inbound;
    this.#progress = forwarding.progress;
    this.#unanswered = unanswered;
  }

  get kind(): OpenStream['kind'] {
    if (this.#forwarding.isWatch) return 'watch';
    return this.#forwarding.request.longRunning ? 'stream' : 'short';
  }

  get clusterName(): string {
    return this.#forwarding.clusterName;
  }

  get clusterUid(): string {
    return this.#forwarding.clusterUid;
  }

  start(): void {
    const { request, transport, openStreams, firstByteTimeoutMs, breaker } = this.#forwarding;
    const inbound = this.#inbound;
    openStreams.add(this);
    if (request.longRunning) this.#progress.open = this;
    inbound.onClose((aborted) => this.#clientClosed(aborted));
    if (this.#settled) return;
    if (!request.longRunning) this.#deadline = setTimeout(() => this.#timedOut(), firstByteTimeoutMs);
    try {
      breaker.enter();
    } catch (error) {
      this.#fail(error);
      return;
    }
    inbound.onDrain(() => this.#unblocked());
    this.#call = transport.send(request, this);
    if (request.body !== 'none') this.#sendBody();
  }

  #sendBody(): void {
    const inbound = this.#inbound;
    const call = this.#call!;
    const { body } = this.#forwarding;
    if (body !== undefined) {
      this.#progress.bytesIn += body.length;
      this.#forwarding.onBody?.(body);
      call.write(body);
      call.end();
      return;
    }
    inbound.readBody({
      onData: (chunk) => {
        this.#progress.bytesIn += chunk.length;
        this.#forwarding.onBody?.(chunk);
        if (!this.#answering && !call.write(chunk)) inbound.pauseBody();
      },
      onEnd: () => call.end(),
    });
  }

  onDrain(): void {
    this.#inbound.resumeBody();
  }

  onSent(): void {
    this.#progress.sentAtMs = performance.now();
    this.#forwarding.breaker.succeed();
  }

  onHeaders(status: number, headers: RawHeaders): void {
    if (this.#settled) return;
    clearTimeout(this.#deadline);
    this.#progress.firstByteAtMs = performance.now();
    this.#answering = true;
    if (this.#forwarding.request.body !== 'none') this.#inbound.resumeBody();
    if (status === 401 && !this.#forwarding.isApplication) {
      this.#forwarding.onCredentialRefused();
      this.#fail(credentialRefused(this.#forwarding.clusterName));
    } else if (status === 403) {
      this.#held = { status, headers, chunks: [], bytes: 0 };
    } else this.#relay(status, headers, []);
  }

  /** Sends the response head to the client, unless it is a redirect that must be refused. */
  #relay(status: number, received: RawHeaders, warnings: readonly string[]): void {
    const relayed = relayedHeaders(received);
    const { headers, contentType, contentEncoding, location } = relayed;
    if (status >= 300 && status < 400 && location !== undefined && !this.#relocate(headers, location, status)) return;
    if (this.#forwarding.sandboxes(relayed)) headers.push('Content-Security-Policy', 'sandbox');
    if (status === 401) headers.push(...challengesOf(received));
    headers.push('Audit-Id', this.#forwarding.auditId);
    for (const warning of warnings) headers.push('Warning', warning);
    if (this.#forwarding.isWatch && status === 200) this.#boundary = eventBoundary(contentType, contentEncoding);
    this.#progress.status = status;
    this.#progress.onAnswering?.();
    const bodyless = this.#forwarding.request.method === 'HEAD' || status === 204 || status === 304;
    this.#inbound.respond(status, headers, bodyless);
    if (this.#draining) this.endAtBoundary();
  }

  #relocate(headers: string[], location: string, status: number): boolean {
    const rewritten = this.#forwarding.rewriteLocation(location);
    if (rewritten === undefined) {
      this.#fail(redirected(this.#forwarding.clusterName, status));
      return false;
    }
    for (let i = 0; i < headers.length; i += 2) {
      if (headers[i]!.toLowerCase() === 'location') headers[i + 1] = rewritten;
    }
    return true;
  }

  onData(chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#held !== undefined) {
      this.#held.chunks.push(chunk);
      this.#held.bytes += chunk.length;
      if (this.#held.bytes > refusalBytes) this.#releaseHeld();
      return;
    }
    this.#pass(chunk);
  }

  #pass(chunk: Buffer): void {
    const boundary = this.#boundary;
    if (boundary !== undefined) {
      const end = boundary.feed(chunk);
      if (this.#draining && end >= 0) {
        this.#progress.bytesOut += end;
        this.#inbound.write(chunk.subarray(0, end));
        this.#endDrained();
        return;
      }
    }
    this.#progress.bytesOut += chunk.length;
    if (this.#inbound.write(chunk)) return;
    if (this.blockedSinceMs === 0) this.#progress.blockedSinceMs = performance.now();
    this.#call?.pause();
  }

  #unblocked(): void {
    if (this.#progress.blockedSinceMs !== undefined) this.#progress.blockedSinceMs = 0;
    this.#call?.resume();
  }

  get blockedSinceMs(): number {
    return this.#progress.blockedSinceMs ?? 0;
  }

  /**
   * Forwards a buffered 403, when it is complete or longer than `refusalBytes`. A Warning header is added when the body
   * says that the member refused the impersonation.
   */
  #releaseHeld(): void {
    const held = this.#held!;
    this.#held = undefined;
    const body = Buffer.concat(held.chunks);
    const { clusterName } = this.#forwarding;
    this.#relay(held.status, held.headers, refusedImpersonation(clusterName, body));
    if (body.length > 0) this.#pass(body);
  }

  onEnd(): void {
    if (this.#settled) return;
    if (this.#held !== undefined) this.#releaseHeld();
    this.#progress.ending = 'complete';
    this.#inbound.end();
    this.#settle();
  }

  onError(error: GatewayError, afterHeaders: boolean): void {
    if (this.#settled) return;
    if (!afterHeaders && this.#progress.sentAtMs === 0) this.#forwarding.breaker.fail(error);
    this.#progress.ending = 'member-broke-off';
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#settled) return;
    this.#settle(error);
  }

  #timedOut(): void {
    if (this.#settled) return;
    const { clusterName, firstByteTimeoutMs, breaker } = this.#forwarding;
    breaker.forget();
    this.#fail(noAnswer(clusterName, firstByteTimeoutMs));
  }

  #clientClosed(aborted: boolean): void {
    if (this.#settled) return;
    if (!aborted) return;
    this.#progress.ending = 'client-gone';
    this.#forwarding.breaker.forget();
    this.#settle();
  }

  endAtBoundary(): boolean {
    this.#draining = true;
    if (this.#settled || this.#boundary === undefined) return false;
    if (this.#boundary.atBoundary) this.#endDrained();
    return true;
  }

  #endDrained(): void {
    this.#progress.ending = 'drained';
    if (this.#lastEvent !== undefined) {
      this.#progress.bytesOut += this.#lastEvent.length;
      this.#inbound.write(this.#lastEvent);
    }
    this.#inbound.end();
    this.#call?.abort();
    this.#settle();
  }

  end(reason: GatewayError, statusJson: string): void {
    const boundary = this.#boundary;
    if (this.#lastEvent !== undefined) return;
    // A client that does not read would not read the final event either.
    if (this.#settled || boundary === undefined || this.blockedSinceMs > 0) return this.abort(reason);
    this.#report(reason);
    this.#lastEvent = Buffer.from(boundary.isText === true ? `{"type":"ERROR","object":${statusJson}}\n` : '');
    this.#deadline = setTimeout(() => this.abort(reason), lastWordsMs);
    this.endAtBoundary();
  }

  #report(reason: GatewayError): void {
    const { outcome } = this.#forwarding;
    if (outcome !== undefined) outcome.error ??= reason;
  }

  abort(reason: GatewayError): void {
    if (this.#settled) return;
    this.#report(reason);
    this.#progress.ending = 'drained';
    this.#fail(reason);
  }

  /**
   * Ends the forwarding once; further calls do nothing. Stops the timer, cancels the request to the member if it is
   * still running, and reports an error to the client.
   */
  #settle(error?: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#forwarding.openStreams.delete(this);
    if (this.#progress.ending !== 'complete') this.#call?.abort();
    if (error === undefined) return;
    if (this.#inbound.answered) this.#inbound.abort();
    else this.#unanswered(error);
  }
}
