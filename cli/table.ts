// Prints a `meta.k8s.io/v1` Table as kubectl does. Columns come from the server, in its order; a priority above 0 is
// for `wide` only. Cells are foreign text: control characters in them are made visible.
import { humanDuration } from './duration.ts';
import { printable } from './failure.ts';
import { isJsonObject } from './connection/http.ts';
import type { JsonObject } from './connection/http.ts';

// k8s.io/cli-runtime/pkg/printers/tabwriter.go: minimal width 6, padding 3.
const minimalWidth = 6;
const padding = 3;

/** How to print a Table. */
export interface TableOptions {
  /** Also the columns of priority above 0. */
  readonly wide: boolean;
  /** Unix milliseconds that ages are counted from. */
  readonly nowMs: number;
}

/**
 * The text of a Table, one line a row below a line of upper-case names; '' when it has no rows.
 * @param table a `Table` as received; faulty rows and cells are shown empty rather than refused
 */
export function printTable(table: JsonObject, options: TableOptions): string {
  const columns = listOf(table['columnDefinitions'])
    .map((definition, index) => ({
      index,
      name: typeof definition['name'] === 'string' ? definition['name'] : '',
      isDate: definition['type'] === 'date' || definition['format'] === 'date-time' || definition['name'] === 'Age',
      isWide: typeof definition['priority'] === 'number' && definition['priority'] !== 0,
    }))
    .filter(({ isWide }) => options.wide || !isWide);
  const rows = listOf(table['rows']).map((row) => {
    const cells: unknown = row['cells'];
    return columns.map(({ index, isDate }) =>
      showCell(Array.isArray(cells) ? cells[index] : undefined, isDate, options.nowMs),
    );
  });
  if (rows.length === 0) return '';
  return align([columns.map(({ name }) => printable(name.toUpperCase())), ...rows]);
}

/** Cells aligned in columns, three spaces apart; the last column is not padded. */
export function align(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const line of lines) {
    for (const [index, cell] of line.entries()) {
      widths[index] = Math.max(widths[index] ?? minimalWidth, [...cell].length + padding);
    }
  }
  return lines
    .map((line) => {
      const padded = line.slice(0, -1).map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - [...cell].length));
      return `${padded.join('')}${line.at(-1) ?? ''}\n`;
    })
    .join('');
}

function showCell(cell: unknown, isDate: boolean, nowMs: number): string {
  if (cell === null || cell === undefined) return '';
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
  // A server may send the age ready-made ("3d", as apiextensions does) or the time it counts from.
  if (isDate && /^\d{4}-\d{2}-\d{2}T/.test(text)) return humanDuration(nowMs - Date.parse(text));
  const lineEnd = text.search(/[\f\n\r]/);
  return printable(lineEnd < 0 ? text : `${text.slice(0, lineEnd)}...`).replaceAll('\t', ' ');
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
