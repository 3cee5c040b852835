// The wall clock with microseconds for audit events. `performance.now()` has microseconds but ignores corrections of
// the clock; `Date.now()` follows them but has milliseconds only. This clock joins both, so that two events of one
// request keep their order.

/** Turns moments of `performance.now()` into metav1.MicroTime: RFC 3339 in UTC with six digits. */
export type AuditClock = (atMs: number) => string;

/** When the clocks differ by more than this, the wall clock wins. */
const toleranceMs = 5;

/** Reads both clocks at every call. */
export function makeAuditClock(wallMs: () => number = Date.now, monotonicMs = () => performance.now()): AuditClock {
  let originMs = wallMs() - monotonicMs();
  // Formatting a date was the slowest part of an event (measured), and most events of a busy gateway share their
  // second.
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
