// Durations as Go's flags write them: `10s`, `1m30s`, `500ms`. Easy to get wrong: a bare number is refused, since
// nobody can tell seconds from milliseconds.
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Milliseconds of a duration, or undefined when it is none (Go's time.ParseDuration without signs, fractions below a
 * millisecond and `0`).
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) sum += Number(amount) * units[unit!]!;
  return Math.round(sum);
}
