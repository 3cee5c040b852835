// When to stop asking a cluster that does not answer: one connect time-out, three connect failures in a row, or a probe
// without an answer opens the breaker. Only failures to connect count: a member that answers 500 is alive, and a client
// that goes away says nothing about the member.
import { GatewayError } from '../../cache/model/errors.ts';

/** Tuning of a breaker; times in milliseconds. */
export interface BreakerLimits {
  readonly failuresToOpen: number;
  /** How long it is open the first time; doubles up to `longestOpenMs`. */
  readonly firstOpenMs: number;
  readonly longestOpenMs: number;
}

export const defaultBreakerLimits: BreakerLimits = { failuresToOpen: 3, firstOpenMs: 2_000, longestOpenMs: 15_000 };

/** What a caller does with a request: send it, or fail with the reason the breaker keeps. */
export interface Breaker {
  /**
   * Call before connecting. In the half-open state it lets one request through to try.
   * @throws GatewayError naming the last fault: with its code where that says what to repair (502), else
   *   MEMBER_UNAVAILABLE
   */
  enter(): void;
  /** A connection stood, or an answer came. */
  succeed(): void;
  /** Connecting failed with this error. */
  fail(error: GatewayError): void;
  /** The request ended without saying anything of the member (the client went away): gives back a half-open try. */
  forget(): void;
  /** The probe got no answer at all: opens at once, until succeed(). */
  trip(error: GatewayError): void;
  readonly state: 'closed' | 'open' | 'half-open';
}

/**
 * Makes the breaker of one cluster; `nowMs` is a clock that never goes back: a step of the wall clock must not keep a
 * cluster closed.
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
      throw new GatewayError(
        last?.status === 502 ? last.code : 'MEMBER_UNAVAILABLE',
        `cluster "${clusterName}" failed a moment ago and is not being asked now: ${last?.message ?? 'unknown fault'}`,
        { cluster: clusterName, cause: last },
      );
    },
    succeed() {
      failures = 0;
      openMs = limits.firstOpenMs;
      state = 'closed';
    },
    fail(error) {
      last = error;
      failures += 1;
      if (state === 'half-open') {
        openMs = Math.min(openMs * 2, limits.longestOpenMs);
        open(openMs);
      } else if (state === 'closed' && (error.code === 'MEMBER_TIMEOUT' || failures >= limits.failuresToOpen)) {
        open(openMs);
      }
    },
    forget() {
      if (state === 'half-open') open(0);
    },
    trip(error) {
      last = error;
      open(Number.POSITIVE_INFINITY);
    },
  };
}
