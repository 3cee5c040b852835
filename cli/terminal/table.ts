// Prints a `meta.k8s.io/v1` Table as kubectl does. The columns are those that the server sends, in the same order;
// columns with a priority above 0 appear only with `wide`. Security: cells come from outside, so control characters in
// them are made visible.
import { objectsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { humanDuration } from '../../lib/text/human-duration.ts';
import { printable } from './failure.ts';

// Minimum width of a column, and the space between columns, in characters, as in
// k8s.io/cli-runtime/pkg/printers/tabwriter.go.
const minimalWidth = 6;
const padding = 3;

/** Options for printing a Table. */
export interface TableOptions {
  /** True to print also the columns with a priority above 0. */
  readonly wide: boolean;
  /** The present time in milliseconds since 1970, from which ages are computed. */
  readonly nowMs: number;
}

/**
 * The Table as text: a line with column names in upper case, then one line for each row; '' when there are no rows.
 * @param table the object as received. Malformed rows and cells are printed empty
 */
export function printTable(table: JsonObject, options: TableOptions): string {
  const columns = objectsAt(table, 'columnDefinitions')
    .map((definition, index) => ({
      index,
      name: typeof definition['name'] === 'string' ? definition['name'] : '',
      isDate: definition['type'] === 'date' || definition['format'] === 'date-time' || definition['name'] === 'Age',
      isWide: typeof definition['priority'] === 'number' && definition['priority'] !== 0,
    }))
    .filter(({ isWide }) => options.wide || !isWide);
  const rows = objectsAt(table, 'rows').map((row) => {
    const cells: unknown = row['cells'];
    return columns.map(({ index, isDate }) =>
      showCell(Array.isArray(cells) ? cells[index] : undefined, isDate, options.nowMs),
    );
  });
  if (rows.length === 0) return '';
  return align([columns.map(({ name }) => printable(name.toUpperCase())), ...rows]);
}

/** Prints rows of text as a table with these headings; '' when there are no rows. */
export function printRows(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const columnDefinitions = headings.map((name) => ({ name, type: 'string' }));
  return printTable({ columnDefinitions, rows: rows.map((cells) => ({ cells })) }, { wide: false, nowMs: 0 });
}

/** Aligns cells in columns, three spaces apart; the last column is not padded. */
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
  // Some servers send an age as text ("3d", as apiextensions does), others send a time, from which the age is computed
  // here.
  if (isDate && /^\d{4}-\d{2}-\d{2}T/.test(text)) return humanDuration(nowMs - Date.parse(text));
  const lineEnd = text.search(/[\f\n\r]/);
  return printable(lineEnd < 0 ? text : `${text.slice(0, lineEnd)}...`).replaceAll('\t', ' ');
}
