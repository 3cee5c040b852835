// A wall clock with microseconds, for audit events. Two events of one request must keep their order, so milliseconds
// are too coarse. `Date.now()` follows corrections of the system clock but has only milliseconds; `performance.now()`
// has microseconds but ignores corrections. This clock combines both.

/** Turns a time of `performance.now()` into metav1.MicroTime: RFC 3339 in UTC with six digits of the second. */
export type AuditClock = (atMs: number) => string;

/**
 * When `Date.now()` and `performance.now()` have drifted apart by more than this many milliseconds, for example because
 * the system clock was corrected, audit times are aligned with `Date.now()` again.
 */
const toleranceMs = 5;

/** Makes an audit clock. The parameters replace the system's clocks in tests. */
export function makeAuditClock(wallMs: () => number = Date.now, monotonicMs = () => performance.now()): AuditClock {
  let originMs = wallMs() - monotonicMs();
  // The text of a date up to the second is kept and used again: formatting it was measured as the slowest part of an
  // audit event, and a busy gateway writes many events in one second.
  let second = Number.NaN;
  let prefix = '';
  return (atMs) => {
    const nowMs = wallMs() - monotonicMs();
    if (Math.abs(nowMs - originMs) > toleranceMs) originMs = nowMs;
    const unixMs = originMs + atMs;
    const itsSecond = Math.floor(unixMs / 1000);
    if (itsSecond !== second) {
      second = itsSecond;
      prefix = new Date(second * 1000).toISOString().slice(0, 20);
    }
    const micros = Math.min(999_999, Math.floor((unixMs - second * 1000) * 1000));
    return `${prefix}${String(1_000_000 + micros).slice(1)}Z`;
  };
}
