// The pool of HTTP/1.1 connections for the short requests to one cluster. A call takes whichever comes first, a
// connection that gets free or the one opened for it, so a slow dial never delays a request that an idle connection
// could serve.
import type { Socket } from 'node:net';
import type { GatewayError } from '../../cache/model/errors.ts';
import type { Dialer, Protocols } from '../dial/connect.ts';
import { Call } from '../members/call.ts';
import { Http1Connection } from './member-connection.ts';
import type { ConnectionOwner } from './member-connection.ts';
import { closedTransport, fail, memberFault } from '../members/member-faults.ts';
import { requestHead } from './request-head.ts';

/** Bounds of one pool. */
export interface Http1Limits {
  /** Connections open or being opened. */
  readonly connections: number;
  /** Calls waiting for a connection; one more is MEMBER_OVERLOADED. */
  readonly pending: number;
  /** Idle connections are closed after this; a kube-apiserver closes them after 90 s. */
  readonly idleTimeoutMs: number;
}

/** Counts for metrics. */
export interface Http1Stats {
  readonly idle: number;
  readonly active: number;
  readonly pending: number;
}

/** Connections of one pool that are being opened at a time. */
const dialsAtOnce = 32;

const shortProtocols: Protocols = ['http/1.1'];

/** Sends short requests over pooled connections. */
export class Http1Client {
  readonly #dialer: Dialer;
  readonly #limits: Http1Limits;
  readonly #owner: ConnectionOwner;
  /** Last in, first out: the rest of the pool gets old and is closed. */
  readonly #idle: Http1Connection[] = [];
  readonly #open = new Set<Http1Connection>();
  /** Waiting calls in order of arrival; the value says whether a connection was asked for on behalf of the call. */
  readonly #pending = new Map<Call, boolean>();
  /** Connections being opened, those for waiting calls counted in #wanted. */
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

  /** Takes a call; its handler hears how it ends. */
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

  /** Takes a connection that was opened elsewhere. */
  adopt(socket: Socket): void {
    this.#release(this.#connection(socket));
  }

  stats(): Http1Stats {
    const idle = this.#idle.length;
    return { idle, active: this.#open.size - idle, pending: this.#pending.size };
  }

  /**
   * 'drain' closes idle connections now and every other one when its request ends; 'abort' ends everything with
   * onError.
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

  /** Opens a connection if more calls wait than connections are on their way, and there is room. */
  #openMore(): void {
    if (this.#wanted >= this.#pending.size) return;
    if (this.#open.size + this.#dials.size >= this.#limits.connections) return;
    // A thousand handshakes at once would all miss the connect deadline; connections that get free serve the rest.
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

  /** Without any open connection, none can get free: calls that wait for one fail as well. */
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

  /** A connection is free: the call that waited longest takes it. */
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

  /** The oldest idle connections are at the front. */
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
   * The keep-alive race: the member closed an idle connection while the request was on its way (rule "retry only what
   * is safe").
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

  /** A fresh connection for this call alone: another idle one may be as dead as the last. */
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
