// Turns objects into `meta.k8s.io/v1` Tables, with the columns of kube-apiserver. Columns of priority 1 are always
// sent; kubectl shows them only with `-o wide`.
import type { Resource } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { nameColumn } from './cells.ts';
import { columnsFor } from './columns.ts';
import type { Column } from './column.ts';

const createdAt: Column = { name: 'Created At', type: 'date', cell: (object) => object.metadata.creationTimestamp };
const defaultColumns: readonly Column[] = [nameColumn, createdAt];

function columnsOf(resource: Resource): readonly Column[] {
  return columnsFor(resource) ?? defaultColumns;
}

/** The `columnDefinitions` of a resource's table. */
export function tableHead(resource: Resource): readonly JsonObject[] {
  return columnsOf(resource).map(({ name, type = 'string', format = '', priority = 0, description = '' }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

/**
 * One row of a table. With `includeObject` 'Object' it contains the whole object, with 'None' no object, otherwise only
 * its metadata.
 */
export function tableRow(resource: Resource, object: KubeObject, includeObject: string, now: Date): JsonObject {
  const cells = columnsOf(resource).map((column) => column.cell(object, now) ?? '');
  if (includeObject === 'None') return { cells };
  if (includeObject === 'Object') return { cells, object };
  return { cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}
