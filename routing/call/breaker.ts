// A circuit breaker: decides when to stop sending requests to a cluster that does not respond, and how long it stays
// open before a request may try the cluster again. It opens after one connect timeout, after three failed connects in a
// row, or when the probe gets no answer. Only connect failures count: a member that answers 500 is alive, and a client
// that disconnects says nothing about the member.
import { GatewayError, type ErrorCode } from '../../model/errors.ts';

/**
 * Errors which say that no connection could be opened. Others, such as a refused credential or too many waiting
 * requests, occur on this side, and a caller could cause them to close the cluster for everybody.
 */
export const connectFaults: ReadonlySet<ErrorCode> = new Set([
  'MEMBER_REFUSED',
  'MEMBER_TIMEOUT',
  'MEMBER_TLS',
  'MEMBER_PROXY',
  'MEMBER_UNAVAILABLE',
]);

/** Settings of a breaker; times in milliseconds. The breaker opens after `failuresToOpen` failed connects in a row. */
export interface BreakerLimits {
  readonly failuresToOpen: number;
  /** How long the breaker stays open the first time. The time doubles with each failed retry, up to `longestOpenMs`. */
  readonly firstOpenMs: number;
  readonly longestOpenMs: number;
}

export const defaultBreakerLimits: BreakerLimits = { failuresToOpen: 3, firstOpenMs: 2_000, longestOpenMs: 15_000 };

/** The circuit breaker of one cluster: asked before each connection, and told how connections and requests ended. */
export interface Breaker {
  /**
   * To be called before connecting. While the breaker is open, this throws. When the open time is over, one request may
   * pass as a test (half-open), and others still get the error.
   * @throws GatewayError naming the last failure: with its code if that is a 502, otherwise MEMBER_UNAVAILABLE
   */
  enter(): void;
  /** Reports that a connection or an answer was received; closes the breaker. */
  succeed(): void;
  /**
   * Reports that nothing was sent because of this error. It counts as a failed connect only when its code is one of
   * {@link connectFaults}. Any other, such as a full pool of connections or a credential that cannot be read, is as
   * `forget()`.
   */
  fail(error: GatewayError): void;
  /**
   * Reports that a request ended without showing whether the member can be reached, for example because the client
   * disconnected. If it was the half-open test, another request may be the test.
   */
  forget(): void;
  /** Reports that the health probe got no answer; opens the breaker until succeed() is called. */
  trip(error: GatewayError): void;
  readonly state: 'closed' | 'open' | 'half-open';
}

/**
 * Thrown for a request that was not sent, because the breaker is open: connecting to the cluster failed a moment ago.
 */
export class BreakerOpen extends GatewayError {
  /**
   * The failure that opened the breaker, which stays the same while the breaker opens and closes; undefined when none
   * was reported.
   */
  readonly last: GatewayError | undefined;

  constructor(cluster: string, last: GatewayError | undefined) {
    super(
      last?.status === 502 ? last.code : 'MEMBER_UNAVAILABLE',
      `cluster "${cluster}" failed a moment ago and gets no requests at the moment: ${last?.message ?? 'unknown fault'}`,
      { cluster, cause: last },
    );
    this.last = last;
  }
}

/**
 * Makes the breaker of one cluster.
 * @param nowMs a monotonic clock; a change of the system time must not keep a breaker open
 */
export function makeBreaker(
  clusterName: string,
  limits: BreakerLimits = defaultBreakerLimits,
  nowMs: () => number = () => performance.now(),
): Breaker {
  let failures = 0;
  let openMs = limits.firstOpenMs;
  let openUntilMs = 0;
  let state: Breaker['state'] = 'closed';
  let last: GatewayError | undefined;

  const open = (durationMs: number): void => {
    state = 'open';
    openUntilMs = nowMs() + durationMs;
  };

  const forget = (): void => {
    if (state === 'half-open') open(0);
  };

  return {
    get state() {
      return state;
    },
    enter() {
      if (state === 'closed') return;
      if (state === 'open' && nowMs() >= openUntilMs) {
        state = 'half-open';
        return;
      }
      throw new BreakerOpen(clusterName, last);
    },
    succeed() {
      failures = 0;
      openMs = limits.firstOpenMs;
      state = 'closed';
    },
    fail(error) {
      if (!connectFaults.has(error.code)) {
        forget();
        return;
      }
      last = error;
      failures += 1;
      if (state === 'half-open') {
        openMs = Math.min(openMs * 2, limits.longestOpenMs);
        open(openMs);
      } else if (state === 'closed' && (error.code === 'MEMBER_TIMEOUT' || failures >= limits.failuresToOpen)) {
        open(openMs);
      }
    },
    forget,
    trip(error) {
      last = error;
      open(Number.POSITIVE_INFINITY);
    },
  };
}
