// The pool of HTTP/1.1 connections to one endpoint. A waiting request takes the first connection that is available: one
// that has become idle, or a new one. So a slow connect does not delay a request that an idle connection can serve. A
// GET or HEAD that broke on a connection that was used before is sent again (retried) on a new one.
import type { Socket } from 'node:net';
import type { GatewayError } from '../../model/errors.ts';
import type { Dialer, Protocols } from '../dial/connect.ts';
import { Call } from '../call/call.ts';
import { Http1Connection } from './member-connection.ts';
import type { ConnectionOwner } from './member-connection.ts';
import { closedTransport, fail, memberFault } from '../call/member-faults.ts';
import { requestHead } from './request-head.ts';

/** Limits of one pool. */
export interface Http1Limits {
  /** Maximum number of connections, including those being opened. */
  readonly connections: number;
  /** Maximum number of requests that wait for a connection; further ones fail with MEMBER_OVERLOADED. */
  readonly pending: number;
  /** Milliseconds after which an idle connection is closed. A kube-apiserver closes idle connections after 90 s. */
  readonly idleTimeoutMs: number;
}

/** Numbers of idle and used connections and of waiting requests, for metrics. */
export interface Http1Stats {
  readonly idle: number;
  readonly active: number;
  readonly pending: number;
}

/** Maximum number of connections of one pool that are being opened at the same time; further requests wait. */
const dialsAtOnce = 32;

const shortProtocols: Protocols = ['http/1.1'];

/** Sends requests over pooled connections. */
export class Http1Client {
  readonly #dialer: Dialer;
  readonly #limits: Http1Limits;
  readonly #owner: ConnectionOwner;
  /**
   * The idle connections. The one that became idle last is used first, so that surplus connections stay idle and get
   * closed.
   */
  readonly #idle: Http1Connection[] = [];
  readonly #open = new Set<Http1Connection>();
  /** Waiting calls in order of arrival. The value is true when a connection is being opened for the call. */
  readonly #pending = new Map<Call, boolean>();
  /**
   * For each connection that is being opened, the controller that aborts the attempt. `#wanted` counts those that are
   * opened for waiting calls.
   */
  readonly #dials = new Set<AbortController>();
  #wanted = 0;
  #sweep: NodeJS.Timeout | undefined;
  #closed: 'open' | 'drain' | 'abort' = 'open';

  constructor(dialer: Dialer, limits: Http1Limits) {
    this.#dialer = dialer;
    this.#limits = limits;
    this.#owner = {
      onIdle: (connection) => this.#release(connection),
      onClosed: (connection) => this.#forget(connection),
      onBroken: (call, error, untouched) => this.#broken(call, error, untouched),
    };
  }

  /** Sends a call; the call's handler receives the answer or the error. */
  accept(call: Call): void {
    try {
      call.head = requestHead(call.request);
    } catch (error) {
      call.failSoon(memberFault(error, this.#dialer.member, 'request'));
      return;
    }
    const connection = this.#takeIdle();
    if (connection !== undefined) connection.begin(call);
    else this.#enqueue(call);
  }

  /** Adds an open connection, on which no request was sent, to the pool. */
  adopt(socket: Socket): void {
    this.#release(this.#connection(socket));
  }

  stats(): Http1Stats {
    const idle = this.#idle.length;
    return { idle, active: this.#open.size - idle, pending: this.#pending.size };
  }

  /**
   * 'drain' closes idle connections now, and the others when their request ends. 'abort' ends all calls with onError.
   */
  close(mode: 'drain' | 'abort'): void {
    if (this.#closed !== 'abort') this.#closed = mode;
    clearTimeout(this.#sweep);
    for (const connection of this.#idle.splice(0)) connection.close();
    if (mode === 'drain') return;
    const error = closedTransport(this.#dialer.member);
    for (const dial of this.#dials) dial.abort();
    for (const call of this.#pending.keys()) call.fail(error);
    this.#pending.clear();
    for (const connection of this.#open) connection.abort(error);
  }

  #takeIdle(): Http1Connection | undefined {
    let connection = this.#idle.pop();
    while (connection !== undefined && !connection.usable) {
      connection.close();
      connection = this.#idle.pop();
    }
    return connection;
  }

  #enqueue(call: Call): void {
    const { member } = this.#dialer;
    const refusal =
      this.#closed === 'abort'
        ? closedTransport(this.#dialer.member)
        : this.#pending.size >= this.#limits.pending
          ? fail('MEMBER_OVERLOADED', `too many requests are waiting for ${member.address}`, member, undefined)
          : undefined;
    if (refusal !== undefined) {
      call.failSoon(refusal);
      return;
    }
    this.#pending.set(call, false);
    call.onAbandoned = () => this.#pending.delete(call);
    this.#openMore();
  }

  /** Opens a connection if more calls wait than connections are being opened, within the limits. */
  #openMore(): void {
    if (this.#wanted >= this.#pending.size) return;
    if (this.#open.size + this.#dials.size >= this.#limits.connections) return;
    // If hundreds of TLS handshakes ran at once, all would miss the connect timeout. Waiting calls can also use
    // connections that become idle.
    if (this.#dials.size >= dialsAtOnce) return;
    let chosen: Call | undefined;
    for (const [call, dialing] of this.#pending) {
      chosen ??= call;
      if (dialing) continue;
      chosen = call;
      break;
    }
    this.#pending.set(chosen!, true);
    this.#dialFor(chosen!);
  }

  #dialFor(call: Call): void {
    const giveUp = new AbortController();
    this.#dials.add(giveUp);
    this.#wanted++;
    this.#dialer.dial(shortProtocols, giveUp.signal).then(
      ({ socket }) => {
        this.#dials.delete(giveUp);
        this.#wanted--;
        this.#release(this.#connection(socket));
        this.#openMore();
      },
      (error: GatewayError) => {
        this.#dials.delete(giveUp);
        this.#wanted--;
        this.#dialFailed(call, error);
      },
    );
  }

  /**
   * Handles a failed attempt to open a connection. If the pool has no open connection, none can become idle, so the
   * calls that only wait for an idle one fail too.
   */
  #dialFailed(call: Call, error: GatewayError): void {
    const hopeless = this.#open.size === 0;
    for (const [waiting, dialing] of this.#pending) {
      if (waiting === call || (hopeless && !dialing)) {
        this.#pending.delete(waiting);
        waiting.fail(error);
      }
    }
    this.#openMore();
  }

  #connection(socket: Socket): Http1Connection {
    const connection = new Http1Connection(socket, this.#dialer.member, this.#owner);
    this.#open.add(connection);
    return connection;
  }

  /**
   * Gives an available connection to the call that has waited longest. If no call waits, the connection becomes idle.
   */
  #release(connection: Http1Connection): void {
    for (const [call] of this.#pending) {
      this.#pending.delete(call);
      call.onAbandoned = undefined;
      connection.begin(call);
      return;
    }
    if (this.#closed !== 'open') {
      connection.close();
      return;
    }
    connection.idleSinceMs = performance.now();
    this.#idle.push(connection);
    this.#sweep ??= this.#scheduleSweep();
  }

  #scheduleSweep(): NodeJS.Timeout {
    return setTimeout(() => this.#closeOld(), this.#limits.idleTimeoutMs / 2).unref();
  }

  /** Closes connections that have been idle for longer than `idleTimeoutMs`; these are at the front of the list. */
  #closeOld(): void {
    const limit = performance.now() - this.#limits.idleTimeoutMs;
    let old = 0;
    while (old < this.#idle.length && this.#idle[old]!.idleSinceMs <= limit) old++;
    for (const connection of this.#idle.splice(0, old)) connection.close();
    this.#sweep = this.#idle.length > 0 ? this.#scheduleSweep() : undefined;
  }

  #forget(connection: Http1Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#openMore();
  }

  /**
   * Handles a connection that broke during a call. A GET or HEAD is sent again if the member closed an idle connection
   * just as the request was sent (rule "retry only what is safe" in docs/rules.md).
   */
  #broken(call: Call, error: GatewayError, untouched: boolean): void {
    const { method, body } = call.request;
    const repeatable = body === 'none' && (method === 'GET' || method === 'HEAD');
    if (!untouched || !repeatable || call.retried || call.over || this.#closed === 'abort') {
      call.fail(error);
      return;
    }
    call.repeat();
    this.#retry(call);
  }

  /** Opens a new connection for this call, since another idle connection may be dead too. */
  #retry(call: Call): void {
    const giveUp = new AbortController();
    this.#dials.add(giveUp);
    call.onAbandoned = () => giveUp.abort();
    this.#dialer.dial(shortProtocols, giveUp.signal).then(
      ({ socket }) => {
        this.#dials.delete(giveUp);
        call.onAbandoned = undefined;
        const connection = this.#connection(socket);
        if (call.over) this.#release(connection);
        else connection.begin(call);
      },
      (error: GatewayError) => {
        this.#dials.delete(giveUp);
        call.fail(error);
        this.#openMore();
      },
    );
  }
}
