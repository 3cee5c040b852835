// The type RowScope: which part of the index one user may see. A store turns it into conditions of its queries.
// Everything that a scope does not name is hidden. A cluster that the caller may not reach is absent, and no count,
// list or name may reveal it.
import type { TypeKey } from '../types.ts';

/** The objects of one type in one cluster that may be seen. */
export type Grant =
  | 'all'
  | {
      /** Namespaces in which every object may be seen. */
      readonly namespaces: readonly string[];
      /**
       * Single objects that may be seen as well (`resourceNames`). `namespace: undefined` means that name in any
       * namespace.
       */
      readonly names: readonly { readonly namespace: string | undefined; readonly name: string }[];
      /** Set when the user may see more single objects, which are left out because there are too many. */
      readonly isCut?: true;
    };

/** The rows that one user may see with one verb at one moment. The object is never changed. */
export interface RowScope {
  /** Outer keys: incarnation ids. A missing incarnation or type grants nothing. */
  readonly grants: ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;
  /** Equal digests mean equal grants. A watch compares them to notice changed rights. */
  readonly digest: string;
}
