// The other processes of one gateway that answer from the same index. One process writes the index and tells the others
// the state of each cluster.
import type { ClusterState } from '../member/sync-types.ts';

/** A message of one process to all others. */
export type PeerMessage =
  /**
   * From the process that writes: the state of each cluster that changed since its last message, and the uids of all
   * clusters.
   */
  | { readonly kind: 'states'; readonly changed: readonly ClusterState[]; readonly uids: readonly string[] }
  /** From a process that has just started: the next `states` message shall include every cluster. */
  | { readonly kind: 'states-wanted' };

/** Messages between the processes of one gateway. */
export interface IndexPeers {
  send(message: PeerMessage): void;
  /** Calls the listener for each message of another process. Returns a function that removes the listener. */
  onMessage(listener: (message: PeerMessage) => void): () => void;
  /** True once the gateway is shutting down: no process may begin to write the index then. */
  isEnding(): boolean;
}
