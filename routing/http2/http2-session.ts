// One HTTP/2 connection to a member and its streams. Node queues a stream beyond the member's limit in silence, and a
// watch would hang; so the limit is kept here (rule "HTTP/2 limits are set"), and nothing is sent before the member's
// SETTINGS are known.
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { GatewayError } from '../../cache/model/errors.ts';
import { connectTimeoutMs, maxHeaderBytes, maxHeaderPairs, maxUpstreamStreamsPerSession } from '../../lib/limits.ts';
import type { Call } from '../members/call.ts';
import { Http2Stream } from './member-stream.ts';
import { fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';

/** Bytes a member may send on one stream before the caller took them. */
const streamWindowBytes = 256 * 1024;
/** Bytes a member may send on all streams of a session before Node took them from the socket. */
const sessionWindowBytes = 4 * 1024 * 1024;
/** Megabytes Node may hold for one session: windows and header tables of 90 streams, with room. */
const sessionMemoryMegabytes = 64;

/** How a session is watched over. */
export interface SessionTimes {
  /** An idle session is closed after this. */
  readonly idleTimeoutMs: number;
  /** Time between two PINGs: finds a member that vanished without a word. */
  readonly pingIntervalMs: number;
  /** Longest wait for the answer to a PING. */
  readonly pingTimeoutMs: number;
}

/** Hears what becomes of a session and its calls. */
export interface SessionOwner {
  /** The member's SETTINGS are known; streams may be opened. */
  onReady(session: Http2Session): void;
  /** A stream ended, or the member allows more of them. */
  onRoom(session: Http2Session): void;
  /** The session is gone; called once. `error` says why when it never served a call. */
  onClosed(session: Http2Session, error: GatewayError | undefined): void;
  /** The answer broke off; `repeatable` when a GET may be tried on another session. */
  onBroken(call: Call, error: GatewayError, repeatable: boolean): void;
}

/** Owns the socket from the moment TLS is up. */
export class Http2Session {
  /** Streams open now. */
  streams = 0;
  readonly #member: MemberLabel;
  readonly #owner: SessionOwner;
  readonly #times: SessionTimes;
  readonly #session: ClientHttp2Session;
  #ready = false;
  /** The session is to end with its last stream. After a GOAWAY of the member, Node closes it the same way. */
  #closing = false;
  #served = 0;
  #fault: GatewayError | undefined;
  #idle: NodeJS.Timeout | undefined;
  #ping: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(socket: Socket, member: MemberLabel, times: SessionTimes, owner: SessionOwner) {
    this.#member = member;
    this.#times = times;
    this.#owner = owner;
    // The address is of no use to Node here: the socket is open and every request brings its own :authority.
    this.#session = connect('https://member', {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: streamWindowBytes,
        maxHeaderListSize: maxHeaderBytes,
      },
      maxHeaderListPairs: maxHeaderPairs,
      maxSendHeaderBlockLength: maxHeaderBytes,
      maxSessionMemory: sessionMemoryMegabytes,
    });
    this.#session
      .on('connect', () => this.#session.setLocalWindowSize(sessionWindowBytes))
      .on('remoteSettings', () => this.#onSettings())
      .on('error', (error) => {
        this.#fault ??= memberFault(error, member, 'request');
      })
      .on('close', () => this.#onClose());
    this.#expect('sent no HTTP/2 settings', connectTimeoutMs);
  }

  /** Streams that can be opened now. */
  get room(): number {
    const session = this.#session;
    if (!this.#ready || this.#closing || session.closed || session.destroyed) return 0;
    const allowed = Math.min(session.remoteSettings.maxConcurrentStreams ?? Infinity, maxUpstreamStreamsPerSession);
    return Math.max(0, allowed - this.streams);
  }

  /** Sends the request of a call. False when the session could not take it, and nothing was sent. */
  begin(call: Call, headers: readonly string[]): boolean {
    const reused = this.#served > 0;
    const session = this.#session;
    let stream: Http2Stream;
    try {
      stream = new Http2Stream(session, headers, call, this.#member, {
        onClosed: () => this.#streamClosed(),
        onBroken: (broken, error, unprocessed) => {
          const lostWithSession = reused && !broken.answered && session.destroyed;
          this.#owner.onBroken(broken, this.#fault ?? error, unprocessed || lostWithSession);
        },
      });
    } catch (error) {
      // A request that node:http2 refuses would be refused by every session: to open the next one would go round for
      // ever.
      if (error instanceof TypeError) {
        call.failSoon(fail('INTERNAL', 'the gateway built a request that HTTP/2 does not allow', this.#member, error));
        return true;
      }
      this.#retire();
      return false;
    }
    this.#served++;
    this.streams++;
    clearTimeout(this.#idle);
    stream.flush();
    call.handler.onSent?.(reused);
    return true;
  }

  /** No new streams; the session ends with its last one. */
  retire(): void {
    this.#retire();
  }

  /** Destroys the session; calls on it end with this error. */
  abort(error: GatewayError): void {
    this.#fault = error;
    this.#closing = true;
    this.#session.destroy();
  }

  #retire(): void {
    this.#closing = true;
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  #onSettings(): void {
    if (!this.#ready) {
      this.#ready = true;
      clearTimeout(this.#deadline);
      this.#deadline = undefined;
      this.#ping = setInterval(() => this.#sendPing(), this.#times.pingIntervalMs).unref();
      this.#startIdle();
      this.#owner.onReady(this);
    } else this.#owner.onRoom(this);
  }

  #sendPing(): void {
    if (this.#deadline !== undefined || this.#session.destroyed) return;
    this.#expect('does not answer HTTP/2 pings', this.#times.pingTimeoutMs);
    this.#session.ping(() => {
      clearTimeout(this.#deadline);
      this.#deadline = undefined;
    });
  }

  /** Destroys the session unless the deadline is cleared in time. */
  #expect(what: string, timeoutMs: number): void {
    this.#deadline = setTimeout(() => {
      const { address } = this.#member;
      this.abort(fail('MEMBER_TIMEOUT', `${address} ${what}`, this.#member, undefined));
    }, timeoutMs).unref();
  }

  #streamClosed(): void {
    this.streams--;
    if (this.streams === 0) this.#startIdle();
    if (!this.#session.destroyed) this.#owner.onRoom(this);
  }

  #startIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.streams === 0) this.#retire();
    }, this.#times.idleTimeoutMs).unref();
  }

  #onClose(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#deadline);
    clearInterval(this.#ping);
    const { address } = this.#member;
    const fault =
      this.#fault ?? fail('MEMBER_UNAVAILABLE', `${address} closed the connection`, this.#member, undefined);
    this.#owner.onClosed(this, this.#served > 0 ? undefined : fault);
  }
}
