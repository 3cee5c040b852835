// One HTTP/2 connection to a member and its streams. Easy to get wrong: Node silently queues streams beyond the
// member's limit, and a queued watch would hang. So the limit is enforced here (rule "HTTP/2 limits are set" in
// docs/rules.md), and no stream is opened before the member's SETTINGS have arrived.
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { GatewayError } from '../../model/errors.ts';
import { connectTimeoutMs, maxHeaderBytes, maxHeaderPairs, maxUpstreamStreamsPerSession } from '../../lib/limits.ts';
import type { Call } from '../call/call.ts';
import { Http2Stream } from './member-stream.ts';
import { fail, memberFault } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';

/** Flow-control window of a stream: so many bytes the member may send on it before the gateway reads them. */
const streamWindowBytes = 256 * 1024;
/** Flow-control window of a session: so many bytes the member may send on all its streams together. */
const sessionWindowBytes = 4 * 1024 * 1024;
/**
 * Maximum number of megabytes of memory that Node may use for one session; then Node refuses new streams. The 90
 * streams that a session may have need less.
 */
const sessionMemoryMegabytes = 64;

/** Time limits of a session, in milliseconds. */
export interface SessionTimes {
  /** Milliseconds without a stream after which the session is closed. */
  readonly idleTimeoutMs: number;
  /** Milliseconds between two PINGs, which detect that a member has vanished. */
  readonly pingIntervalMs: number;
  /** Maximum time in milliseconds until a PING is answered; then the session is destroyed and its calls fail. */
  readonly pingTimeoutMs: number;
}

/** Callbacks with which a session reports to the code that opened it. */
export interface SessionOwner {
  /** Called when the member's SETTINGS have arrived and streams can be opened. */
  onReady(session: Http2Session): void;
  /** Called when more streams can be opened, because one ended or the member raised its limit. */
  onRoom(session: Http2Session): void;
  /** Called once, when the session is closed. `error` is set when the session never served a call. */
  onClosed(session: Http2Session, error: GatewayError | undefined): void;
  /**
   * Called when a stream broke before its answer was complete. `repeatable` is true when a GET may be sent again on
   * another session.
   */
  onBroken(call: Call, error: GatewayError, repeatable: boolean): void;
}

/** Serves calls on a socket whose TLS handshake is done. */
export class Http2Session {
  /** Number of open streams. */
  streams = 0;
  readonly #member: MemberLabel;
  readonly #owner: SessionOwner;
  readonly #times: SessionTimes;
  readonly #session: ClientHttp2Session;
  #ready = false;
  /**
   * Whether the session opens no more streams and closes after its last one. After a GOAWAY of the member, Node does
   * the same.
   */
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
    // Node requires a URL here but does not use it: the socket is already open, and every request sets its own
    // :authority.
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

  /** How many more streams can be opened now. */
  get room(): number {
    const session = this.#session;
    if (!this.#ready || this.#closing || session.closed || session.destroyed) return 0;
    const allowed = Math.min(session.remoteSettings.maxConcurrentStreams ?? Infinity, maxUpstreamStreamsPerSession);
    return Math.max(0, allowed - this.streams);
  }

  /** Sends a call on a new stream. False when the session cannot open one; nothing was sent then. */
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
      // node:http2 refuses the request itself, so every other session would refuse it too. If false were returned,
      // session after session would be tried without end.
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

  /** Opens no more streams, and closes the session after its last one. */
  retire(): void {
    this.#retire();
  }

  /** Destroys the session and fails its calls with this error. */
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

  /** Destroys the session after `timeoutMs`, with `what` as reason, unless `#deadline` is cleared before. */
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
