// What the gateway knows of a cluster, from which the status of its PediaCluster is written. These types keep the
// controllers independent of the index and of health probes.
import type { ApiObject } from '../../kube/types.ts';

/** One resource type of a cluster, and how far the gateway has copied its objects into the index. */
export interface SyncedType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly status: 'Pending' | 'Syncing' | 'Stop' | 'Error' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** True while the type is listed for the first time. */
  readonly initialListPhase: boolean;
}

export interface ClusterFacts {
  /** The reason why the gateway cannot use the PediaCluster as it is written; undefined when it can. */
  readonly problem: string | undefined;
  /**
   * Name under which the index already has this cluster, if another object had registered the same cluster before;
   * otherwise undefined.
   */
  readonly sameAs?: string | undefined;
  /** Address of the cluster's API server; '' while unknown. */
  readonly apiserver: string;
  /** `gitVersion` of the cluster's API server; '' while unknown. */
  readonly version: string;
  /** Result of the latest health probe; undefined before the first one. */
  readonly health: { readonly isHealthy: boolean; readonly message: string } | undefined;
  /** State of the cluster's synchronisation into the index; undefined before it has begun. */
  readonly sync:
    | {
        /** True once the gateway has reached the cluster and knows its identity. */
        readonly isRunning: boolean;
        /** The reason why no type of the cluster can be synchronised; '' when there is none. */
        readonly fault: string;
        readonly types: readonly SyncedType[];
        /** Messages about types that `syncResources` names and that cannot be copied into the index. */
        readonly refused: readonly string[];
      }
    | undefined;
}

/** Gives the controllers what the gateway knows of its clusters. */
export interface ImportedClusters {
  /** Returns the facts about a cluster; undefined while the gateway has not registered the PediaCluster yet. */
  facts(pediaCluster: ApiObject): ClusterFacts | undefined;
  /**
   * Calls the listener with the name of each PediaCluster whose facts have changed, or with undefined when the facts of
   * all may have changed. The returned function removes the listener.
   */
  onChange(listener: (name: string | undefined) => void): () => void;
  /** Resolves when the index has no rows of a cluster with this name any more. */
  rowsGone(name: string): Promise<void>;
}
