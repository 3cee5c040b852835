// Ages as kubectl prints them. As an age grows, kubectl drops the smaller unit (119s, 2m, 9m59s, 10m, 179m, 3h), and
// never rounds up.

const minuteMs = 60_000;

/**
 * Returns a duration as Go's `k8s.io/apimachinery/pkg/util/duration.HumanDuration` prints it.
 * @param durationMs milliseconds since a point in time. When it is less than two seconds in the future, the text is
 * `0s`; when it is further in the future, `<invalid>`
 */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (!Number.isFinite(seconds) || seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(durationMs / minuteMs);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return pair(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  return days < 365 * 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`;
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
