// The other processes of one gateway that answer from the same index: one of them writes it, and tells the others how
// the members are followed.
import type { ClusterState } from './sync/sync-types.ts';

/** What one process tells all others. */
export type PeerMessage =
  /** Of the one that writes: clusters whose state changed since its last message, and all there are. */
  | { readonly kind: 'states'; readonly changed: readonly ClusterState[]; readonly uids: readonly string[] }
  /** Of one that has just started: the next `states` shall hold every cluster. */
  | { readonly kind: 'states-wanted' };

/** See the file comment. */
export interface IndexPeers {
  send(message: PeerMessage): void;
  /** Calls the listener for each message of another process. Returns the function that ends it. */
  onMessage(listener: (message: PeerMessage) => void): () => void;
  /** All processes end, so none begins to write. */
  isEnding(): boolean;
}
