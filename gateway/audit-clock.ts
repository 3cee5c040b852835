// The wall clock with microseconds, as audit events want it. Easy to get wrong: `performance.now()` has the microseconds but does not follow
// corrections of the clock, and `Date.now()` follows them but has milliseconds only; two events of one request must not change their order.
import { microTime } from './audit-event.ts';

/** Turns moments of `performance.now()` into timestamps. */
export type AuditClock = (atMs: number) => string;

/** The clocks may differ by this before the wall clock wins. */
const toleranceMs = 5;

/** Reads both clocks at every call. */
export function makeAuditClock(wallMs: () => number = Date.now, monotonicMs = () => performance.now()): AuditClock {
  let originMs = wallMs() - monotonicMs();
  return (atMs) => {
    const nowMs = wallMs() - monotonicMs();
    if (Math.abs(nowMs - originMs) > toleranceMs) originMs = nowMs;
    return microTime(originMs + atMs);
  };
}
