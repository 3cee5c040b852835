// What a request for several clusters may ask of each: exactly what it could ask of that cluster alone. RBAC for the
// cluster name `*` only allows such a request to begin; it gives access to no cluster. Each cluster is authorized by
// its own name, and so is impersonation of another user.
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { GatewayError } from '../../cache/model/errors.ts';

/**
 * Permission checks for single clusters. The `authorize` step makes it; it keeps the caller's credential until the
 * request ends.
 */
export interface ClusterAccess {
  /**
   * Whether the same request, sent to this cluster alone, would be allowed.
   * @throws GatewayError HUB_UNAVAILABLE (or rejects with it) when the hub cannot be asked
   */
  mayReach(cluster: ClusterSpec): boolean | Promise<boolean>;
  /**
   * Repeats the check while a stream is open, and calls `end` when the request is no longer allowed.
   * @returns a function that stops the checks
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
}
