// What answers say of how clusters are followed: their warnings, their age, what is being read for the first time. Who
// answers need not be who follows a cluster, so answers ask this and not the followers.
import type { ResourceType, TypeKey } from '../types.ts';
import type { ClusterState, PartState, SyncHandle } from './sync-types.ts';

/** How clusters are followed, by whichever process. */
export interface SyncView {
  /** One entry a cluster that is indexed, sorted by name. */
  state(): readonly ClusterState[];
  /** What there is to say of these types, unsorted: every answer asks for it, and there may be thousands of types. */
  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[];
  /** Unix milliseconds; undefined when nothing of it was ever confirmed, or it is not kept. */
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /** Another number whenever listeners are called. */
  readonly version: number;
  /**
   * Calls the listener when clusters, incarnations, types or phases have changed; progress alone does not count.
   * Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
}

/** The view of a process that follows all clusters itself. */
export function localSyncView(sync: SyncHandle): SyncView {
  let version = 0;
  // Before any other listener, so that those see the new number.
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
