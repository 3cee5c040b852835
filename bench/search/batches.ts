// The generated objects as batches for a store, as the index writes them: each batch has objects of one type of one
// cluster.
import type { TypeInfo } from '../../query/types.ts';
import type { WriteBatch } from '../../store/store.ts';
import { clusterName, clusterObjects, type GeneratedObject } from './generator.ts';

const batchRows = 500;

export function incarnationId(index: number): string {
  return `record-${index}/system-${index}`;
}

/** All objects of a cluster in batches. @param rows largest number of rows in a batch */
export function clusterBatches(index: number, rows = batchRows): readonly WriteBatch[] {
  return batchesOf(index, [...clusterObjects(index)], rows);
}

export function batchesOf(index: number, objects: readonly GeneratedObject[], rows = batchRows): readonly WriteBatch[] {
  const incarnation = { id: incarnationId(index), cluster: clusterName(index) };
  return [...Map.groupBy(objects, ({ resource }) => resource).values()].flatMap((all) => {
    const { group, resource, kind } = all[0]!;
    const names = { singular: kind.toLowerCase(), shortNames: [], categories: [] };
    const version = { version: 'v1', versions: ['v1'], convertible: false };
    const type: TypeInfo = { group, resource, kind, ...version, ...names, namespaced: resource !== 'nodes' };
    return Array.from({ length: Math.ceil(all.length / rows) }, (_, i) => ({
      incarnation,
      type,
      deletes: [],
      upserts: all.slice(i * rows, (i + 1) * rows).map((object) => ({
        ...object,
        labels: Object.entries(object.labels),
        raw: Buffer.from(object.json),
      })),
    }));
  });
}
