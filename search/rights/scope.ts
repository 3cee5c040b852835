// What of the index one user may see, as values that a store makes part of its plan. What is not named here is hidden.
// A cluster that the caller may not reach is absent, and no count, list or name shows that it exists.
import type { TypeKey } from '../types.ts';

/** Which objects of one type in one cluster may be seen. */
export type Grant =
  | 'all'
  | {
      /** Every object in these namespaces. */
      readonly namespaces: readonly string[];
      /** And these objects (`resourceNames`); namespace undefined: of that name in any namespace. */
      readonly names: readonly { readonly namespace: string | undefined; readonly name: string }[];
    };

/** Frozen; made for one user, one verb (`get`, `list` or `watch`) and one moment. */
export interface RowScope {
  /** By incarnation id, then by type; absent means none. */
  readonly grants: ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;
  /** Equal digests mean equal grants; a watch compares them to notice changed rights. */
  readonly digest: string;
}
