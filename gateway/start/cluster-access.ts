// Permission checks for a request to several clusters. It may ask each cluster exactly what it could ask of that
// cluster alone. RBAC for the cluster name `*` only allows such a request to begin; it gives access to no cluster. Each
// cluster is authorized by its own name, and so is impersonation of another user.
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { GatewayError } from '../../cache/model/errors.ts';

/**
 * Checks whether one request may use single clusters. It contains the caller's credential, so it must not be kept
 * longer than the request.
 */
export interface ClusterAccess {
  /**
   * Whether the same request would be allowed if it were sent to this cluster alone.
   * @throws GatewayError HUB_UNAVAILABLE (or rejects with it) when the hub cannot be asked
   */
  mayReach(cluster: ClusterSpec): boolean | Promise<boolean>;
  /**
   * Repeats the check of {@link mayReach} while a stream from the cluster is open, and calls `end` when the caller has
   * lost the right.  @returns a function that stops the checks
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
}
