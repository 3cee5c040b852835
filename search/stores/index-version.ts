// The index's own resourceVersions: 16 digits of a commit's time in microseconds, then three check digits, so that a member's resourceVersion is
// never taken for ours. Easy to get wrong: they are decimals longer than a double's 53 bits; only the first 16 digits are ever a number.

const checkModulus = 997;
const form = /^[1-9]\d{18}$/;

/** Microseconds since 1970 with 16 digits: the years 2001 to 2255 (2^53). */
export const leastIndexTimeUs = 1_000_000_000_000_000;

/**
 * The resourceVersion of a commit time.
 * @param timeUs whole microseconds since 1970, 16 digits
 */
export function makeIndexVersion(timeUs: number): string {
  if (!Number.isSafeInteger(timeUs) || timeUs < leastIndexTimeUs) throw new RangeError(`no index time: ${timeUs}`);
  return `${timeUs}${String(timeUs % checkModulus).padStart(3, '0')}`;
}

/** The commit time in microseconds; undefined for a text that no index has issued (another length, or check digits that do not fit). */
export function readIndexVersion(resourceVersion: string): number | undefined {
  if (!form.test(resourceVersion)) return undefined;
  const timeUs = Number(resourceVersion.slice(0, 16));
  if (!Number.isSafeInteger(timeUs)) return undefined;
  return timeUs % checkModulus === Number(resourceVersion.slice(16)) ? timeUs : undefined;
}
