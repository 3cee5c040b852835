// Caches which types a store contains. A fleet has tens of thousands of types in its clusters, and they seldom change.
import type { Incarnation, TypeInfo } from '../query/types.ts';
import type { IndexStore, StoredType } from './store.ts';

/**
 * Gives the stored types. They are read again only when the store's catalog has changed; until then the same array is
 * returned, whose positions and counts may be outdated. Rejects when the store cannot answer.
 */
export type StoredTypes = () => Promise<readonly StoredType[]>;

export function makeStoredTypes(store: Pick<IndexStore, 'types' | 'catalogVersion'>): StoredTypes {
  let known: { readonly version: string; readonly types: Promise<readonly StoredType[]> } | undefined;
  return async () => {
    // The version is read before the types. In the other order, old types could be kept under a newer version.
    const version = await store.catalogVersion();
    if (known?.version === version) return await known.types;
    const read = { version, types: store.types() };
    known = read;
    try {
      return await read.types;
    } catch (error) {
      if (known === read) known = undefined;
      throw error;
    }
  };
}

/** A row of the table `follow`, which both stores have, with the row's cluster. `info` is the TypeInfo as JSON. */
export type FollowRow = readonly [
  incarnation: string,
  cluster: string,
  info: string,
  version: string,
  confirmedAtMs: number,
  objects: number,
  resume: string,
];

/**
 * Turns rows of `follow` into types. Equal types share one object, and so do equal incarnations: most clusters have the
 * same types, and each object takes time to make and to send between threads.
 */
export function storedTypesOf(rows: readonly FollowRow[]): readonly StoredType[] {
  const types = new Map<string, TypeInfo>();
  const incarnations = new Map<string, Incarnation>();
  return rows.map(([id, cluster, info, resourceVersion, confirmedAtMs, objects, resume]) => {
    let type = types.get(info);
    if (type === undefined) types.set(info, (type = JSON.parse(info) as TypeInfo));
    let incarnation = incarnations.get(id);
    if (incarnation === undefined) incarnations.set(id, (incarnation = { id, cluster }));
    const position = { resourceVersion, confirmedAtMs, ...(resume === '' ? {} : { resume }) };
    return { incarnation, type, position, objects };
  });
}
