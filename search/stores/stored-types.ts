// Remembers which types a store keeps. There are tens of thousands of them in a fleet, and they seldom change.
import type { IndexStore, StoredType } from './store.ts';

/**
 * What the store keeps, read again only when its catalog has changed: the same array until then, whose positions and
 * counts may be old. Rejects as the store does.
 */
export type StoredTypes = () => Promise<readonly StoredType[]>;

export function makeStoredTypes(store: Pick<IndexStore, 'types' | 'catalogVersion'>): StoredTypes {
  let known: { readonly version: string; readonly types: Promise<readonly StoredType[]> } | undefined;
  return async () => {
    // Before the types, which are then as new as the version or newer.
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
