// Parses RFC 3339 times exactly, to the nanosecond. Date.parse would accept other texts as well, such as February 31st,
// and would drop what follows the milliseconds of a Kubernetes MicroTime.

const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d{0,20})?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Nanoseconds since 1970; undefined when the text is not an RFC 3339 time. */
export function readRfc3339(text: string): bigint | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = utcMs(year, month, day, hour, minute, second);
  if (ms === undefined) return undefined;
  const offset = offsetMinutes(match[8], match[9], match[10]);
  if (offset === undefined) return undefined;
  return BigInt(ms - offset * 60_000) * 1_000_000n + BigInt((match[7] ?? '').padEnd(9, '0'));
}

/** Unix milliseconds of a time in UTC; undefined when there is no such day or time of day. */
export function utcMs(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  // Date.UTC would read years below 100 as 19xx.
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, second);
}

function offsetMinutes(sign: string | undefined, hours: string | undefined, minutes: string | undefined) {
  if (sign === undefined) return 0;
  const [h, m] = [Number(hours), Number(minutes)];
  if (h > 23 || m > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (h * 60 + m);
}
