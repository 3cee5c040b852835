// The clock of a store that several processes share. A time that one process notes must be comparable in all others, so
// every process estimates the store's clock from each heartbeat, and notes and compares times by that clock.

/** An estimate of the store's clock, exact up to the duration of the last request for it. */
export interface StoreClock {
  /**
   * Updates the estimate from an answer. `askedAtMs` and `answeredAtMs` are local times before and after the request;
   * `nowMs` is the store's time in between.
   */
  note(askedAtMs: number, answeredAtMs: number, nowMs: number): void;
  /**
   * The least time that the store's clock can show now, in Unix milliseconds. For noting when rows were up to date: the
   * true time may be later, but not earlier.
   */
  atLeast(): number;
  /**
   * The greatest time that the store's clock can show now, in Unix milliseconds. For computing ages, so that no row
   * looks newer than it is.
   */
  atMost(): number;
}

/**
 * Makes a clock that is not set until the first call of `note`.
 * @param localMs returns milliseconds of a clock that never goes back
 */
export function makeStoreClock(localMs: () => number): StoreClock {
  let behind = 0;
  let ahead = 0;
  return {
    note(askedAtMs, answeredAtMs, nowMs) {
      behind = nowMs - answeredAtMs;
      ahead = nowMs - askedAtMs;
    },
    atLeast: () => Math.floor(localMs() + behind),
    atMost: () => Math.ceil(localMs() + ahead),
  };
}
