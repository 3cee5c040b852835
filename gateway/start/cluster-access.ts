// What a request that names several clusters may ask of each: exactly what it could have asked of that cluster alone. A
// right to the name `*` lets a fan-out begin and opens no cluster: each is authorized by its own name, impersonation
// included.
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { GatewayError } from '../../cache/model/errors.ts';

/** Made by the `authorize` step; holds the caller's credential in a closure, for as long as the exchange lasts. */
export interface ClusterAccess {
  /**
   * Would the same request to this cluster alone be let through?
   * @throws GatewayError HUB_UNAVAILABLE (or rejects) when the hub cannot be asked
   */
  mayReach(cluster: ClusterSpec): boolean | Promise<boolean>;
  /**
   * Asks again while a stream is open and calls `end` once it may no longer be.
   * @returns what stops the asking
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
}
