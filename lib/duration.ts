// Durations as Go's flags write them: `10s`, `1m30s`, `500ms`. A number without a unit, other than 0, is refused,
// because it could mean seconds or milliseconds.

/** The longest that a timer of Node waits, in milliseconds: 24.8 days. A timer that is set for longer ends at once. */
export const longestTimerMs = 2 ** 31 - 1;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * A duration in whole milliseconds; undefined when the text is not valid. Accepts what Go's time.ParseDuration does,
 * but no signs, no units below a millisecond, and no number that begins or ends with a decimal point.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) sum += Number(amount) * units[unit!]!;
  return Math.round(sum);
}
