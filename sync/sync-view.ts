// How complete and how old the copies of clusters in the index are, for the warnings and ages in answers. In a gateway
// with several workers, the process that answers may be another one than the process that follows a cluster, so answers
// use this interface and not the followers themselves.
import type { ResourceType, TypeKey } from '../query/types.ts';
import type { ClusterState, PartState, SyncHandle } from './member/sync-types.ts';

/** How complete and how old the copies of clusters in the index are, no matter which process makes them. */
export interface SyncView {
  /** The state of each indexed cluster, sorted by name. */
  state(): readonly ClusterState[];
  /**
   * For each cluster, the states of those of these types that are not up to date, in no order. Every answer calls this,
   * so it must be quick with thousands of types.
   */
  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[];
  /**
   * When the rows of the type were last known to be up to date, in Unix milliseconds. Undefined when they never were,
   * or when the type is not indexed.
   */
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /** A number that changes whenever the listeners are called. */
  readonly version: number;
  /**
   * Calls the listener when there are other clusters or types, when a cluster was set up anew under its name, or when
   * the state of following a type has changed, for example from listing to watching. More rows alone do not count.
   * Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
}

/** The view of a process that follows all clusters itself. */
export function localSyncView(sync: SyncHandle): SyncView {
  let version = 0;
  // Added before any other listener, so that the others see the new number.
  sync.onChange(() => void (version += 1));
  return {
    state: () => sync.state(),
    stateOf: (types) => sync.stateOf(types),
    confirmedAtMs: (incarnation, type) => sync.confirmedAtMs(incarnation, type),
    get version() {
      return version;
    },
    onChange: (listener) => sync.onChange(listener),
  };
}
