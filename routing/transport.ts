// All connections to one cluster behind one contract: short requests on pooled HTTP/1.1, long-running ones apart from
// them, upgrades on sockets of their own. Easy to get wrong: watches must never use up the connections of short
// requests.
import type { Socket } from 'node:net';
import { Call } from './call.ts';
import { makeDialer } from './connect.ts';
import type { DialTarget } from './connect.ts';
import { Http1Client } from './http1-client.ts';
import { requestUpgrade } from './http1-upgrade.ts';
import { Http2Client } from './http2-client.ts';
import { closedTransport, fail } from './member-faults.ts';
import type { Transport } from './transport-types.ts';

/** Bounds of one cluster's connections. */
export interface TransportLimits {
  /** HTTP/1.1 connections for short requests; default 256. */
  readonly connections?: number;
  /** Short requests waiting for one of them; default 1024. */
  readonly pending?: number;
  /** Long-running requests, each a stream of HTTP/2 or a connection of HTTP/1.1; default 4096. */
  readonly longRunningCalls?: number;
  /** Upgraded connections and those asked to upgrade; default 1024. */
  readonly upgrades?: number;
  /** Idle connections and sessions are closed after this; default 60 s. */
  readonly idleTimeoutMs?: number;
  /** Time between two PINGs on an HTTP/2 session; default 30 s. */
  readonly pingIntervalMs?: number;
  /** Longest wait for the answer to one; default 15 s. */
  readonly pingTimeoutMs?: number;
}

/** What a transport is made of: parts of one cluster record and its credential. */
export interface TransportOptions extends DialTarget {
  readonly limits?: TransportLimits;
}

/** Makes the transport of one cluster record; connects to nothing yet. */
export function makeTransport(options: TransportOptions): Transport {
  const { limits = {} } = options;
  const dialer = makeDialer(options);
  const idleTimeoutMs = limits.idleTimeoutMs ?? 60_000;
  const short = new Http1Client(dialer, {
    connections: limits.connections ?? 256,
    pending: limits.pending ?? 1024,
    idleTimeoutMs,
  });
  const longRunningCalls = limits.longRunningCalls ?? 4096;
  const longRunningHttp1 = new Http1Client(dialer, {
    connections: longRunningCalls,
    pending: longRunningCalls,
    idleTimeoutMs,
  });
  const longRunning = new Http2Client(dialer, options.endpoint.scheme, longRunningHttp1, {
    calls: longRunningCalls,
    http1BelievedMs: 600_000,
    idleTimeoutMs,
    pingIntervalMs: limits.pingIntervalMs ?? 30_000,
    pingTimeoutMs: limits.pingTimeoutMs ?? 15_000,
  });
  /** Sockets of upgrades, from the connect on. */
  const upgraded = new Set<Socket>();
  /** Upgrades whose connection is being opened. */
  let asking = 0;
  let removed = false;
  return {
    send(request, handler) {
      const call = new Call(request, handler);
      (request.longRunning ? longRunning : short).accept(call);
      return call;
    },
    upgrade(request, token, handler, signal) {
      const { member } = dialer;
      if (removed) return Promise.reject(closedTransport(member));
      if (upgraded.size + asking >= (limits.upgrades ?? 1024)) {
        const busy = `too many upgraded connections to ${member.address}`;
        return Promise.reject(fail('MEMBER_OVERLOADED', busy, member, undefined));
      }
      asking++;
      let waiting = true;
      const connected = (): void => {
        if (waiting) asking--;
        waiting = false;
      };
      const onSocket = (socket: Socket): void => {
        connected();
        upgraded.add(socket);
        socket.on('close', () => upgraded.delete(socket));
        if (removed) socket.destroy();
      };
      return requestUpgrade({ dialer, request, token, handler, signal, onSocket }).finally(connected);
    },
    stats() {
      const one = short.stats();
      const two = longRunningHttp1.stats();
      const http2 = longRunning.stats();
      return {
        http1Idle: one.idle + two.idle,
        http1Active: one.active + two.active,
        http2Sessions: http2.sessions,
        http2Streams: http2.streams,
        pending: one.pending + two.pending + http2.pending,
        upgraded: upgraded.size,
      };
    },
    close(mode) {
      short.close(mode);
      longRunning.close(mode);
      longRunningHttp1.close(mode);
      if (mode === 'drain') return;
      removed = true;
      for (const socket of upgraded) socket.destroy();
    },
  };
}
