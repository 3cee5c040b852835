// The parts of the gateway that are needed to answer one request from many clusters.
import type { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { ClusterStore } from '../../../model/store.ts';
import type { User } from '../../../model/user.ts';
import type { OpenStreams } from '../../../routing/forward/open-streams.ts';
import type { Connections } from '../../../routing/members/target.ts';

/** A request that may stay open for long, for example a watch. */
export interface OutgoingStream {
  readonly user: User;
  /** The cluster to which the gateway has sent the request. */
  readonly cluster: ClusterSpec;
  /** The user that the cluster sees for the request (impersonation). */
  readonly outgoing: User;
  /** Ends the stream without a clean end, so that the client sees that the stream was cut. */
  end(reason: GatewayError): void;
}

/**
 * The parts of the gateway that a request to many clusters uses. ChainDependencies in
 * gateway/steps/chain-dependencies.ts extends this interface.
 */
export interface FanoutDependencies {
  readonly clusters: Pick<ClusterStore, 'get' | 'list' | 'subscribe'>;
  readonly connections: Connections;
  readonly openStreams: OpenStreams;
  readonly admission: {
    /**
     * Takes a slot of one cluster.
     * @returns a function that frees the slot
     * @throws GatewayError TOO_MANY_REQUESTS when a limit is reached
     */
    enterMember(user: User, cluster: string, kind: 'request' | 'stream'): () => void;
  };
  /**
   * Ends an open watch of a cluster when a change of the identity rules gives its user another identity in that
   * cluster. Undefined when watches are not checked for such changes.
   */
  readonly outgoingStreams?: {
    follow(stream: OutgoingStream): void;
    forget(stream: OutgoingStream): void;
  };
  /** Milliseconds that a short request may wait for the first byte of a cluster's answer. */
  readonly firstByteTimeoutMs: number;
}
