// The connections to one endpoint of a cluster. Short requests use a pool of HTTP/1.1 connections, long-running
// requests (watches, logs) have other connections, so that watches cannot use up the connections of short requests.
import type { Socket } from 'node:net';
import type { Endpoint } from '../../model/records.ts';
import type { Call } from '../call/call.ts';
import { MemberDialer } from '../dial/connect.ts';
import type { Dialer, DialTarget } from '../dial/connect.ts';
import { Http1Client } from '../http1/http1-client.ts';
import { Http2Client } from '../http2/http2-client.ts';
import type { TransportStats } from '../call/transport-types.ts';

/** Limits for the connections to one endpoint. */
export interface PoolLimits {
  /** Most HTTP/1.1 connections for short requests; further requests wait. Default 256. */
  readonly connections?: number;
  /**
   * Maximum number of short requests that wait for a connection; further ones fail with MEMBER_OVERLOADED. Default
   * 1024.
   */
  readonly pending?: number;
  /**
   * Most long-running requests, of which each uses an HTTP/2 stream or an HTTP/1.1 connection; further ones fail with
   * MEMBER_OVERLOADED. Default 4096.
   */
  readonly longRunningCalls?: number;
  /** Milliseconds after which an idle connection is closed; default 60,000. */
  readonly idleTimeoutMs?: number;
  /** Milliseconds between two PINGs on an HTTP/2 session; default 30,000. */
  readonly pingIntervalMs?: number;
  /**
   * Maximum time in milliseconds until a PING is answered; then the session and its requests are aborted. Default
   * 15,000.
   */
  readonly pingTimeoutMs?: number;
}

/** Defaults for the time limits that {@link PoolLimits} leaves out. */
export const defaultPoolTimes = { idleTimeoutMs: 60_000, pingIntervalMs: 30_000, pingTimeoutMs: 15_000 } as const;

/** The connection pools of one endpoint. */
export interface EndpointPools {
  readonly dialer: Dialer;
  /** Sends a call; the call's handler receives the answer or the error. */
  accept(call: Call): void;
  /** Adds an open connection, on which no request was sent, to the pool for short requests. */
  adopt(socket: Socket): void;
  stats(): Omit<TransportStats, 'upgraded'>;
  /** Closes the pools, as {@link Transport.close} describes. */
  close(mode: 'drain' | 'abort'): void;
}

/** Makes the pools of one endpoint; opens no connection yet. */
export function makeEndpointPools(target: DialTarget, limits: PoolLimits): EndpointPools {
  const dialer = new MemberDialer(target);
  const idleTimeoutMs = limits.idleTimeoutMs ?? defaultPoolTimes.idleTimeoutMs;
  const short = new Http1Client(dialer, {
    connections: limits.connections ?? 256,
    pending: limits.pending ?? 1024,
    idleTimeoutMs,
  });
  let closed: 'drain' | 'abort' | undefined;
  // The pools for long-running requests are made with the first such request. Most of thousands of clusters are never
  // watched, and these objects are half of the memory that an unused cluster takes.
  let longRunning: LongRunning | undefined;
  return {
    dialer,
    accept(call) {
      if (!call.request.longRunning) return short.accept(call);
      if (longRunning === undefined) {
        longRunning = makeLongRunning(dialer, target.endpoint, limits, idleTimeoutMs);
        // If close() was called before these pools were made, they must be closed too.
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

/** Connections for long-running requests. */
interface LongRunning {
  readonly http2: Http2Client;
  /** Used when the endpoint does not speak HTTP/2. */
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
