// What the gateway gives to whoever asks many clusters for one request.
import type { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { ClusterStore } from '../../../model/store.ts';
import type { User } from '../../../model/user.ts';
import type { OpenStreams } from '../../../routing/forward/open-streams.ts';
import type { Connections } from '../../../routing/members/target.ts';

/** A request that may stay open for long, for example a watch. */
export interface OutgoingStream {
  readonly user: User;
  /** The cluster that the request was sent to. */
  readonly cluster: ClusterSpec;
  /** The user that the cluster sees for the request (impersonation). */
  readonly outgoing: User;
  /** Ends the stream without a clean end, so that the client sees that the stream was cut. */
  end(reason: GatewayError): void;
}

/** What a request to many clusters uses of the gateway; the dependencies of the chain extend it. */
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
    enterMember(user: User, cluster: string, isStream: boolean): () => void;
  };
  /** Ends watches when a change of the rules gives their user another identity in a cluster; see the chain's. */
  readonly outgoingStreams?: {
    follow(stream: OutgoingStream): void;
    forget(stream: OutgoingStream): void;
  };
  /** Milliseconds that a short request may wait for the first byte of a cluster's answer. */
  readonly firstByteTimeoutMs: number;
}
