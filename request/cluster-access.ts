// Permission checks for a request to several clusters. Such a request reaches exactly the clusters to which the same
// request alone would be allowed. RBAC for the cluster name `*` only allows such a request to begin; it gives access to
// no cluster. The request, and an impersonation of another user, is authorized for each cluster by the cluster's own
// name.
import type { ClusterSpec } from '../model/records.ts';
import type { GatewayError } from '../model/errors.ts';

/**
 * Checks which clusters one request may use. The object contains the caller's credential, so it must not be kept longer
 * than the request.
 */
export interface ClusterAccess {
  /**
   * Whether the same request would be allowed if it were sent to this cluster alone.
   * @throws GatewayError HUB_UNAVAILABLE (or rejects with it) when the hub, which decides about rights, cannot be asked
   */
  mayReach(cluster: ClusterSpec): boolean | Promise<boolean>;
  /**
   * Repeats the check of {@link mayReach} while a stream from the cluster is open, and calls `end` when the caller has
   * lost the right.
   * @returns a function that stops the checks
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
}
