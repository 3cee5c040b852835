// Cells that many tables use: ages, labels, container lists. Ages are rounded as in kubectl.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';

/** The column Name, with which all tables except that of events begin. */
export const nameColumn: Column = { name: 'Name', format: 'name', cell: (object) => object.metadata.name };

/** The column Age. */
export const ageColumn: Column = { name: 'Age', cell: (object, now) => age(object.metadata.creationTimestamp, now) };

/** Makes a column of texts. */
export function text(name: string, cell: Column['cell']): Column {
  return { name, cell };
}

/** Makes a column of whole numbers. */
export function integer(name: string, cell: Column['cell']): Column {
  return { name, type: 'integer', cell };
}

/** Makes a column of texts that is shown only with `-o wide`. */
export function wide(name: string, cell: Column['cell']): Column {
  return { name, priority: 1, cell };
}

/** The time since a timestamp, as kubectl prints it. */
export function age(since: string | undefined | null, now: Date): string {
  if (since === undefined || since === null || since === '') return '<unknown>';
  return humanDuration(now.getTime() - Date.parse(since));
}

/** A duration with at most two units, such as `5m30s` (apimachinery/pkg/util/duration HumanDuration). */
export function humanDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

/** Labels as sorted text such as `a=b,c=d`; `<none>` when there are none (apimachinery labels.FormatLabels). */
export function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  const parts = Object.entries(labels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? '<none>' : parts.join(',');
}

/** A label selector as text; `<none>` when it is empty (metav1.FormatLabelSelector). */
export function selectorCell(selector: JsonObject | undefined): string {
  const parts = Object.entries((selector?.['matchLabels'] ?? {}) as Record<string, string>).map(
    ([key, value]) => `${key}=${value}`,
  );
  for (const { key, operator, values = [] } of (selector?.['matchExpressions'] ?? []) as JsonObject[]) {
    if (operator === 'Exists') parts.push(key);
    else if (operator === 'DoesNotExist') parts.push(`!${key}`);
    else parts.push(`${key} ${operator === 'In' ? 'in' : 'notin'} (${[...values].sort().join(',')})`);
  }
  return parts.length === 0 ? '<none>' : parts.sort().join(',');
}

/** The columns Containers and Images of a pod template, which are shown only with `-o wide`. */
export function containerColumns(podSpec: (object: KubeObject) => JsonObject | undefined): readonly Column[] {
  const list = (object: KubeObject, field: string): string =>
    ((podSpec(object)?.['containers'] ?? []) as JsonObject[]).map((container) => container[field] ?? '').join(',');
  return [wide('Containers', (object) => list(object, 'name')), wide('Images', (object) => list(object, 'image'))];
}

/** The value as text; `<none>` when it is missing or empty. */
export function orNone(value: unknown): string {
  return value === undefined || value === null || value === '' ? '<none>' : String(value);
}
