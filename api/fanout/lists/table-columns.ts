// Merges the columns of the Tables that clusters send: the column `Cluster` first, then the clusters' own columns.
// Clusters of different versions have different columns, so each cell is moved to the column with its name. Of several
// columns with one name, the n-th of a cluster is the n-th of the merged Table.
import { byte, skipSpace } from '../../../lib/json/json-scan.ts';
import { MalformedAnswer } from '../../../lib/json/json-scan.ts';
import { edited, elementsOf, markEdits, membersOf, stringAt } from './item-bytes.ts';
import type { Edit, ObjectMark, Span } from './item-bytes.ts';

/** Column definitions of one cluster's Table, as JSON texts in the order of the Table. A name may occur twice. */
export interface Columns {
  readonly names: readonly string[];
  readonly definitions: readonly string[];
}

/** The first column of every merged Table, which shows the cluster's name. */
export const clusterColumn = JSON.stringify({
  name: 'Cluster',
  type: 'string',
  format: '',
  description: 'Cluster the object is in',
  priority: 0,
});

/**
 * Reads the field `columnDefinitions`; null means no columns.
 * @throws MalformedAnswer for malformed JSON
 */
export function readColumns(bytes: Buffer): Columns {
  const spans = elementsOf(bytes, skipSpace(bytes, 0));
  return {
    names: spans.map(({ start }) => stringAt(bytes, membersOf(bytes, start).get('name')) ?? ''),
    definitions: spans.map(({ start, end }) => bytes.toString('utf8', start, end)),
  };
}

/** The columns of the merged Table: those of the first cluster, then the columns that only later clusters have. */
export function unionColumns(all: readonly Columns[]): Columns {
  const names: string[] = [];
  const definitions: string[] = [];
  const known = new Set<string>();
  for (const columns of all) {
    for (const [i, key] of keysOf(columns).entries()) {
      if (known.has(key)) continue;
      known.add(key);
      names.push(columns.names[i]!);
      definitions.push(columns.definitions[i]!);
    }
  }
  return { names, definitions };
}

/** A key of each column: its name, and how many columns before it have that name. */
function keysOf({ names }: Columns): readonly string[] {
  const counts = new Map<string, number>();
  return names.map((name) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return `${count} ${name}`;
  });
}

/** The field `columnDefinitions` of the merged Table, with the column `Cluster` first. */
export function mergedDefinitions({ definitions }: Columns): string {
  return `[${[clusterColumn, ...definitions].join()}]`;
}

/**
 * For each column of the merged Table, the index of the cluster's own cell, or -1 when the cluster does not have the
 * column. Undefined when the cluster has exactly the columns of the merged Table: then its cells stay where they are.
 */
export type CellOrder = readonly number[] | undefined;

export function cellOrder(own: Columns, merged: Columns): CellOrder {
  if (own.names.length === merged.names.length && own.names.every((name, i) => name === merged.names[i]))
    return undefined;
  const indexes = new Map(keysOf(own).map((key, i) => [key, i]));
  return keysOf(merged).map((key) => indexes.get(key) ?? -1);
}

/**
 * A row of the merged Table: the cluster's name is its first cell and an annotation of its object.
 * @throws MalformedAnswer when the bytes are not a Table row
 */
export function mergedRow(bytes: Buffer, order: CellOrder, mark: ObjectMark): Buffer {
  const at = skipSpace(bytes, 0);
  if (bytes[at] !== byte.openObject) throw new MalformedAnswer('something that is not a row');
  const members = membersOf(bytes, at);
  const cells = members.get('cells');
  const object = members.get('object');
  const edits: Edit[] = object === undefined || isNull(bytes, object) ? [] : markEdits(bytes, object.start, mark);
  const first = JSON.stringify(mark.cluster);
  if (cells !== undefined && !isNull(bytes, cells)) {
    if (bytes[cells.start] !== byte.openList) throw new MalformedAnswer('a row without a list of cells');
    if (order === undefined) {
      const isEmpty = bytes[skipSpace(bytes, cells.start + 1)] === byte.closeList;
      edits.push({ start: cells.start + 1, end: cells.start + 1, text: isEmpty ? first : `${first},` });
    } else {
      const spans = elementsOf(bytes, cells.start);
      const moved = order.map((i) => {
        const span = spans[i];
        return span === undefined ? 'null' : bytes.toString('utf8', span.start, span.end);
      });
      edits.push({ ...cells, text: `[${[first, ...moved].join()}]` });
    }
  }
  return edited(bytes, edits);
}

function isNull(bytes: Buffer, { start }: Span): boolean {
  return bytes[start] === 0x6e;
}
