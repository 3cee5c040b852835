// `meta.k8s.io/v1` Tables with the columns of a kube-apiserver. Columns of priority 1 are always sent; kubectl shows
// them only with `-o wide`.
import { rowsOfCustomType, rowsOfType, type RowMaker } from '../../tables/rows.ts';
import type { Resource } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

const makers = new WeakMap<Resource, RowMaker>();

function rowsOf(resource: Resource): RowMaker {
  let maker = makers.get(resource);
  if (maker === undefined) {
    const { definition, columns = [], group, plural } = resource;
    maker = definition === undefined ? rowsOfType(group, plural) : rowsOfCustomType(columns);
    makers.set(resource, maker);
  }
  return maker;
}

/** `columnDefinitions` of a resource. */
export function tableHead(resource: Resource): RowMaker['columns'] {
  return rowsOf(resource).columns;
}

/**
 * Makes one row. `includeObject` decides about the row's `object`: absent for `None`, whole for `Object`, else metadata
 * only.
 */
export function tableRow(resource: Resource, object: KubeObject, includeObject: string, now: Date): JsonObject {
  const row = rowsOf(resource).row(object, now.getTime());
  if (includeObject === 'None') return row;
  if (includeObject === 'Object') return { ...row, object };
  return { ...row, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}
