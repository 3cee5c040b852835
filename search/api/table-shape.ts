// Columns and cells of a type as a Table shows them, the cluster first. Easy to get wrong: cells are made from the stored bytes at the moment of the
// answer, since ages pass.
import { documentPaths, readDocument } from '../query/document.ts';
import type { TypeInfo } from '../types.ts';
import type { TableShape } from './forms.ts';

function column(name: string, description: string, format = ''): object {
  return { name, type: 'string', format, description, priority: 0 };
}

const paths = documentPaths(
  [['name'], ['namespace'], ['creationTimestamp']].map((keys) =>
    ['metadata', ...keys].map((key) => ({ kind: 'key' as const, key })),
  ),
);

/** The shape of one type. */
export function tableShape(_type: TypeInfo, _nowMs: number): TableShape {
  return {
    columns: [
      column('Cluster', 'The cluster of the object.'),
      column('Name', 'Name must be unique within a namespace.', 'name'),
      column('Created At', 'When the object was made.', 'date'),
    ],
    cells(row) {
      const [name, , created] = readDocument(row.raw, paths);
      return [row.cluster, name?.[0] ?? '', created?.[0] ?? ''];
    },
  };
}

/** The shape of a collection. */
export function collectionShape(nowMs: number): TableShape {
  return tableShape(undefined as unknown as TypeInfo, nowMs);
}
