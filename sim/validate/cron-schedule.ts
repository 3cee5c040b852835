// Tells whether a text can be the schedule of a CronJob. The simulator runs no CronJobs, it only stores them.

/** The lowest and highest value of each field: minute, hour, day of month, month, day of week (0 and 7 are Sunday). */
const ranges: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
];
const macros = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/;
const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Whether the text has five fields of numbers, names, ranges and steps, or is a macro such as `@daily`. */
export function isSchedule(text: string): boolean {
  const fields = text.trim().split(/\s+/);
  if (macros.test(text.trim())) return true;
  return fields.length === 5 && fields.every((field, index) => isField(field, ranges[index] ?? [0, 0]));
}

function isField(field: string, [low, high]: readonly [number, number]): boolean {
  const list = high === 12 ? months : high === 7 ? names : [];
  const numberOf = (text: string): number => {
    const index = list.indexOf(text.toLowerCase());
    return index >= 0 ? index : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  return field.split(',').every((part) => {
    const [, range = '', step = '1'] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? [];
    if (range === '*' || range === '?') return Number(step) >= 1;
    const [from = Number.NaN, to = from] = range.split('-').map(numberOf);
    return from >= low && to <= high && from <= to && Number(step) >= 1;
  });
}
