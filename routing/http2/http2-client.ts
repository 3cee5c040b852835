// Sends long-running requests to one endpoint: over HTTP/2 where the member speaks it, because a stream costs a sixth
// of a TLS connection, otherwise over HTTP/1.1 connections that short requests do not use. Which protocol a member
// speaks is only known once a connection is open, so calls wait for the first connection and do not each open their
// own. A GET or HEAD that broke on a connection that was used before is sent again (retried) on a new one.
import type { GatewayError } from '../../model/errors.ts';
import { maxUpstreamStreamsPerSession } from '../../lib/limits.ts';
import type { Call } from '../call/call.ts';
import type { Dialer, Protocols } from '../dial/connect.ts';
import type { Http1Client } from '../http1/http1-client.ts';
import { Http2Session } from './http2-session.ts';
import type { SessionOwner, SessionTimes } from './http2-session.ts';
import { requestHeaders } from './member-stream.ts';
import { closedTransport, fail, memberFault } from '../call/member-faults.ts';

/** Limits for the long-running requests to one endpoint. */
export interface Http2Limits extends SessionTimes {
  /** Most calls, open and waiting; further ones fail with MEMBER_OVERLOADED. */
  readonly calls: number;
  /**
   * For this many milliseconds after a connection has shown that the member speaks only HTTP/1.1, all calls use
   * HTTP/1.1.
   */
  readonly http1BelievedMs: number;
}

/** Numbers of HTTP/2 sessions, open streams and waiting calls, for metrics. */
export interface Http2Stats {
  readonly sessions: number;
  readonly streams: number;
  readonly pending: number;
}

/**
 * Most HTTP/2 sessions to one endpoint; further calls wait. A member that allows only a few streams on each session
 * must not make the gateway open thousands of sessions.
 */
const maxSessions = 256;

const protocols: Protocols = ['h2', 'http/1.1'];

/**
 * Sends long-running requests (watches, logs) to one endpoint: over HTTP/2, or over HTTP/1.1 when the member speaks
 * nothing else.
 */
export class Http2Client {
  readonly #dialer: Dialer;
  readonly #scheme: string;
  readonly #http1: Http1Client;
  readonly #limits: Http2Limits;
  readonly #owner: SessionOwner;
  readonly #sessions = new Set<Http2Session>();
  /** Calls that wait for a session, in order of arrival, each with its header list. */
  readonly #pending = new Map<Call, readonly string[]>();
  /**
   * For each connection that is being opened, the controller that aborts the attempt; and the sessions whose member has
   * not sent SETTINGS yet, in `#opening`.
   */
  readonly #dials = new Set<AbortController>();
  readonly #opening = new Set<Http2Session>();
  /** Until when the member is assumed to speak only HTTP/1.1, as `performance.now()`. */
  #http1UntilMs = 0;
  #closed: 'open' | 'drain' | 'abort' = 'open';

  /** @param http1 sends the calls when the member does not speak HTTP/2 */
  constructor(dialer: Dialer, scheme: 'https' | 'http', http1: Http1Client, limits: Http2Limits) {
    this.#dialer = dialer;
    this.#scheme = scheme;
    this.#http1 = http1;
    this.#limits = limits;
    this.#owner = {
      onReady: (session) => this.#sessionReady(session),
      onRoom: (session) => this.#serve(session),
      onClosed: (session, error) => this.#sessionClosed(session, error),
      onBroken: (call, error, repeatable) => this.#broken(call, error, repeatable),
    };
  }

  /** Sends a call; the call's handler receives the answer or the error. */
  accept(call: Call): void {
    const { member } = this.#dialer;
    // Without TLS there is no ALPN to negotiate HTTP/2, so such a member gets HTTP/1.1.
    if (this.#scheme === 'http' || performance.now() < this.#http1UntilMs) {
      this.#http1.accept(call);
      return;
    }
    let headers: readonly string[];
    try {
      headers = requestHeaders(call.request, this.#scheme);
    } catch (error) {
      call.failSoon(memberFault(error, member, 'request'));
      return;
    }
    const { streams, pending } = this.stats();
    if (this.#closed === 'abort') call.failSoon(closedTransport(this.#dialer.member));
    else if (streams + pending >= this.#limits.calls) {
      call.failSoon(
        fail('MEMBER_OVERLOADED', `too many long-running requests to ${member.address}`, member, undefined),
      );
    } else this.#start(call, headers);
  }

  stats(): Http2Stats {
    let streams = 0;
    for (const session of this.#sessions) streams += session.streams;
    return { sessions: this.#sessions.size, streams, pending: this.#pending.size };
  }

  /** 'drain' closes each session when its last stream ends. 'abort' ends all calls now with onError. */
  close(mode: 'drain' | 'abort'): void {
    if (this.#closed !== 'abort') this.#closed = mode;
    if (mode === 'drain') {
      for (const session of this.#sessions) if (!this.#opening.has(session)) session.retire();
      return;
    }
    const error = closedTransport(this.#dialer.member);
    for (const dial of this.#dials) dial.abort();
    this.#failPending(error);
    for (const session of this.#sessions) session.abort(error);
  }

  #start(call: Call, headers: readonly string[]): void {
    for (const session of this.#sessions) {
      if (session.room > 0 && session.begin(call, headers)) return;
    }
    this.#pending.set(call, headers);
    call.onAbandoned = () => this.#pending.delete(call);
    this.#openMore();
  }

  /** Opens another session if more calls wait than the sessions that are being opened can take. */
  #openMore(): void {
    const coming = this.#dials.size + this.#opening.size;
    if (this.#pending.size <= coming * maxUpstreamStreamsPerSession) return;
    if (this.#sessions.size + this.#dials.size >= maxSessions) return;
    const giveUp = new AbortController();
    this.#dials.add(giveUp);
    this.#dialer.dial(protocols, giveUp.signal).then(
      ({ socket, protocol }) => {
        this.#dials.delete(giveUp);
        if (protocol === 'h2') {
          const session = new Http2Session(socket, this.#dialer.member, this.#limits, this.#owner);
          this.#sessions.add(session);
          this.#opening.add(session);
          if (this.#closed === 'abort') session.abort(closedTransport(this.#dialer.member));
        } else {
          this.#http1UntilMs = performance.now() + this.#limits.http1BelievedMs;
          this.#http1.adopt(socket);
          this.#handOver();
        }
      },
      (error: GatewayError) => {
        this.#dials.delete(giveUp);
        this.#failPending(error);
      },
    );
  }

  /** Sends all waiting calls over HTTP/1.1, because the member does not speak HTTP/2. */
  #handOver(): void {
    const calls = [...this.#pending.keys()];
    this.#pending.clear();
    for (const call of calls) {
      call.onAbandoned = undefined;
      this.#http1.accept(call);
    }
  }

  #failPending(error: GatewayError): void {
    const calls = [...this.#pending.keys()];
    this.#pending.clear();
    for (const call of calls) call.fail(error);
  }

  #sessionReady(session: Http2Session): void {
    this.#opening.delete(session);
    if (session.room === 0) {
      const { member } = this.#dialer;
      this.#failPending(fail('MEMBER_OVERLOADED', `${member.address} allows no streams`, member, undefined));
    }
    this.#serve(session);
  }

  #serve(session: Http2Session): void {
    for (const [call, headers] of this.#pending) {
      if (session.room === 0) break;
      this.#pending.delete(call);
      call.onAbandoned = undefined;
      if (!session.begin(call, headers)) this.#start(call, headers);
    }
    if (this.#closed !== 'open' && !this.#opening.has(session)) session.retire();
    if (this.#pending.size > 0) this.#openMore();
  }

  /**
   * If a session fails before it has served a call, waiting calls fail too. Another session would probably fail in the
   * same way, and sessions would be opened without end.
   */
  #sessionClosed(session: Http2Session, error: GatewayError | undefined): void {
    this.#sessions.delete(session);
    this.#opening.delete(session);
    if (error !== undefined && this.#dials.size + this.#opening.size === 0) this.#failPending(error);
    else if (this.#pending.size > 0) this.#openMore();
  }

  /**
   * Handles a call whose stream broke. A GET or HEAD is sent again if the member did not begin to process it, or if an
   * idle session was closed just as the request was sent (rule "retry only what is safe" in docs/rules.md).
   */
  #broken(call: Call, error: GatewayError, repeatable: boolean): void {
    const { method, body } = call.request;
    const safe = body === 'none' && (method === 'GET' || method === 'HEAD');
    if (!repeatable || !safe || call.retried || call.over || this.#closed === 'abort') {
      call.fail(error);
      return;
    }
    call.repeat();
    this.accept(call);
  }
}
