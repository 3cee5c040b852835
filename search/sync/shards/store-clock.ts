// The clock of a store that several processes share. What one of them notes as a time, another must be able to compare
// with its own: so both note and compare by the store's clock, which each reads with every heartbeat.

/** The store's clock, known up to the time that asking it takes. */
export interface StoreClock {
  /** Notes an answer. Both times are of the local clock, around the request; `nowMs` is the store's, in between. */
  note(askedAtMs: number, answeredAtMs: number, nowMs: number): void;
  /**
   * Unix milliseconds that the store's clock has reached for sure. For times that are noted: what was up to date then
   * was so at this time.
   */
  atLeast(): number;
  /** Unix milliseconds that the store's clock has not passed. For ages: nothing looks newer than it is. */
  atMost(): number;
}

/** @param localMs a clock that never goes back, milliseconds */
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
