// The connections to one endpoint of a cluster: short requests on pooled HTTP/1.1, long-running ones apart from them.
// Easy to get wrong: watches must never use up the connections of short requests.
import type { Socket } from 'node:net';
import type { Call } from './call.ts';
import { makeDialer } from './connect.ts';
import type { Dialer, DialTarget } from './connect.ts';
import { Http1Client } from './http1-client.ts';
import { Http2Client } from './http2-client.ts';
import type { TransportStats } from './transport-types.ts';

/** Bounds of the pools of one endpoint. */
export interface PoolLimits {
  /** HTTP/1.1 connections for short requests; default 256. */
  readonly connections?: number;
  /** Short requests waiting for one of them; default 1024. */
  readonly pending?: number;
  /** Long-running requests, each a stream of HTTP/2 or a connection of HTTP/1.1; default 4096. */
  readonly longRunningCalls?: number;
  /** Idle connections and sessions are closed after this; default 60 s. */
  readonly idleTimeoutMs?: number;
  /** Time between two PINGs on an HTTP/2 session; default 30 s. */
  readonly pingIntervalMs?: number;
  /** Longest wait for the answer to one; default 15 s. */
  readonly pingTimeoutMs?: number;
}

/** What holds where a limit of time is not given. */
export const defaultPoolTimes = { idleTimeoutMs: 60_000, pingIntervalMs: 30_000, pingTimeoutMs: 15_000 } as const;

/** Pools of one endpoint. */
export interface EndpointPools {
  readonly dialer: Dialer;
  /** Takes a call; whatever becomes of it, its handler hears. */
  accept(call: Call): void;
  /** Takes a connection for short requests that was opened elsewhere. */
  adopt(socket: Socket): void;
  stats(): Omit<TransportStats, 'upgraded'>;
  /** As {@link Transport.close}. */
  close(mode: 'drain' | 'abort'): void;
}

/** Makes them; connects to nothing yet. */
export function makeEndpointPools(target: DialTarget, limits: PoolLimits): EndpointPools {
  const dialer = makeDialer(target);
  const idleTimeoutMs = limits.idleTimeoutMs ?? defaultPoolTimes.idleTimeoutMs;
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
  const longRunning = new Http2Client(dialer, target.endpoint.scheme, longRunningHttp1, {
    calls: longRunningCalls,
    http1BelievedMs: 600_000,
    idleTimeoutMs,
    pingIntervalMs: limits.pingIntervalMs ?? defaultPoolTimes.pingIntervalMs,
    pingTimeoutMs: limits.pingTimeoutMs ?? defaultPoolTimes.pingTimeoutMs,
  });
  return {
    dialer,
    accept: (call) => (call.request.longRunning ? longRunning : short).accept(call),
    adopt: (socket) => short.adopt(socket),
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
      };
    },
    close(mode) {
      short.close(mode);
      longRunning.close(mode);
      longRunningHttp1.close(mode);
      dialer.release();
    },
  };
}
