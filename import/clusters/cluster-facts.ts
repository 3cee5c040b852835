// What a PediaCluster's status is made of: what the gateway knows of the cluster, in the words of this room, so that it
// knows nothing of the index and of probes.
import type { HubObject } from '../../cache/hub/hub-types.ts';

/** How one type of a cluster is followed. */
export interface SyncedType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly status: 'Pending' | 'Syncing' | 'Stop' | 'Error' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** The first list is being read. */
  readonly initialListPhase: boolean;
}

export interface ClusterFacts {
  /** Why it cannot be used as it is written; undefined when it can. */
  readonly problem: string | undefined;
  /** The name of the same cluster in the index, where another object had registered it before. */
  readonly sameAs?: string | undefined;
  /** Its address; '' while unknown. */
  readonly apiserver: string;
  /** Its `gitVersion`; '' while unknown. */
  readonly version: string;
  /** Whether it answers; undefined before it was asked. */
  readonly health: { readonly isHealthy: boolean; readonly message: string } | undefined;
  /** How it is followed; undefined before that has begun. */
  readonly sync:
    | {
        /** It was reached and told who it is. */
        readonly isRunning: boolean;
        /** In the way of all types; '' for nothing. */
        readonly fault: string;
        readonly types: readonly SyncedType[];
        /** What was asked for and cannot be had, in words. */
        readonly refused: readonly string[];
      }
    | undefined;
}

/** The clusters of this gateway. */
export interface ImportedClusters {
  /** Undefined while the gateway has not taken the PediaCluster in. */
  facts(pediaCluster: HubObject): ClusterFacts | undefined;
  /** Calls the listener with the name of a PediaCluster that changed, undefined for any. Returns the way to end it. */
  onChange(listener: (name: string | undefined) => void): () => void;
  /** Resolves when no rows are left of what had this name. */
  rowsGone(name: string): Promise<void>;
}
