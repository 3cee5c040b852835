// Parses the schedule of a CronJob, and tells whether it is due at a given minute.

/** The lowest and highest value of each field: minute, hour, day of month, month, day of week (0 and 7 are Sunday). */
const ranges: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
];

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The values at which the schedule is due, for each of its five fields; undefined when the schedule is invalid. */
export function parseSchedule(schedule: string): readonly ReadonlySet<number>[] | undefined {
  const fields = (macros[schedule.trim()] ?? schedule).trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const sets = fields.map((field, index) => parseField(field, ranges[index] ?? [0, 0]));
  return sets.every((set) => set !== undefined) ? sets : undefined;
}

const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function parseField(field: string, [low, high]: readonly [number, number]): Set<number> | undefined {
  const values = new Set<number>();
  const numberOf = (text: string): number => {
    const list = high === 12 ? months : high === 7 ? names : [];
    const index = list.indexOf(text.toLowerCase());
    return index >= 0 ? index : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  for (const part of field.split(',')) {
    const [, range = '', step = '1'] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? [];
    const [from, to] = range === '*' || range === '?' ? [low, high] : range.split('-').map(numberOf);
    const last = to ?? (part.includes('/') ? high : from);
    if (from === undefined || last === undefined || !(from >= low && last <= high && from <= last) || Number(step) < 1)
      return undefined;
    for (let value = from; value <= last; value += Number(step)) values.add(high === 7 ? value % 7 : value);
  }
  return values;
}

/**
 * Whether the schedule is due at this minute (UTC). If the schedule restricts both day of month and day of week, it is
 * enough that one of the two matches, as in cron.
 */
export function isDue(schedule: string, minute: Date): boolean {
  const [minutes, hours, days, monthSet, weekdays] = parseSchedule(schedule) ?? [];
  if (!minutes?.has(minute.getUTCMinutes()) || !hours?.has(minute.getUTCHours())) return false;
  if (!monthSet?.has(minute.getUTCMonth() + 1) || days === undefined || weekdays === undefined) return false;
  const byDay = days.has(minute.getUTCDate());
  const byWeekday = weekdays.has(minute.getUTCDay());
  if (days.size < 31 && weekdays.size < 7) return byDay || byWeekday;
  return byDay && byWeekday;
}
