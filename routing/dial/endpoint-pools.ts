// The connections to one endpoint of a cluster: short requests on pooled HTTP/1.1, long-running ones apart from them,
// so that watches never use up the connections of short requests.
import type { Socket } from 'node:net';
import type { Endpoint } from '../../cache/model/records.ts';
import type { Call } from '../members/call.ts';
import { makeDialer } from './connect.ts';
import type { Dialer, DialTarget } from './connect.ts';
import { Http1Client } from '../http1/http1-client.ts';
import { Http2Client } from '../http2/http2-client.ts';
import type { TransportStats } from '../members/transport-types.ts';

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
  /** Takes a call; its handler hears how it ends. */
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
  let closed: 'drain' | 'abort' | undefined;
  // Made for the first long-running call: of thousands of clusters most are not watched, and these are half of what an
  // unused cluster takes.
  let longRunning: LongRunning | undefined;
  return {
    dialer,
    accept(call) {
      if (!call.request.longRunning) return short.accept(call);
      if (longRunning === undefined) {
        longRunning = makeLongRunning(dialer, target.endpoint, limits, idleTimeoutMs);
        // As if they had been there before it was closed.
        if (closed !== undefined) closeBoth(longRunning, closed);
      }
      longRunning.http2.accept(call);
      return undefined;
    },
    adopt: (socket) => short.adopt(socket),
    stats() {
      const one = short.stats();
      const two = longRunning?.http1.stats();
      const http2 = longRunning?.http2.stats();
      return {
        http1Idle: one.idle + (two?.idle ?? 0),
        http1Active: one.active + (two?.active ?? 0),
        http2Sessions: http2?.sessions ?? 0,
        http2Streams: http2?.streams ?? 0,
        pending: one.pending + (two?.pending ?? 0) + (http2?.pending ?? 0),
      };
    },
    close(mode) {
      if (closed !== 'abort') closed = mode;
      short.close(mode);
      if (longRunning !== undefined) closeBoth(longRunning, mode);
      dialer.release();
    },
  };
}

/** Connections of requests that may stay open. */
interface LongRunning {
  readonly http2: Http2Client;
  /** Where the endpoint speaks no HTTP/2. */
  readonly http1: Http1Client;
}

function makeLongRunning(dialer: Dialer, { scheme }: Endpoint, limits: PoolLimits, idleTimeoutMs: number): LongRunning {
  const calls = limits.longRunningCalls ?? 4096;
  const http1 = new Http1Client(dialer, { connections: calls, pending: calls, idleTimeoutMs });
  const http2 = new Http2Client(dialer, scheme, http1, {
    calls,
    http1BelievedMs: 600_000,
    idleTimeoutMs,
    pingIntervalMs: limits.pingIntervalMs ?? defaultPoolTimes.pingIntervalMs,
    pingTimeoutMs: limits.pingTimeoutMs ?? defaultPoolTimes.pingTimeoutMs,
  });
  return { http2, http1 };
}

function closeBoth({ http2, http1 }: LongRunning, mode: 'drain' | 'abort'): void {
  http2.close(mode);
  http1.close(mode);
}
