// Remembers which types a store contains. A fleet has tens of thousands of types, and they seldom change.
import type { IndexStore, StoredType } from './store.ts';

/**
 * The stored types, read again only when the store's catalog has changed. Until then it is the same array, whose
 * positions and counts may be outdated. Rejects when the store cannot answer.
 */
export type StoredTypes = () => Promise<readonly StoredType[]>;

export function makeStoredTypes(store: Pick<IndexStore, 'types' | 'catalogVersion'>): StoredTypes {
  let known: { readonly version: string; readonly types: Promise<readonly StoredType[]> } | undefined;
  return async () => {
    // The version is read first. In the other order, old types could be kept under a newer version.
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
