// Everything that the steps of the chain may use, passed in as one object. What is replaced while the gateway runs
// (rules, tokens, certificates) is behind a function that reads the present value.
import type { RequestAuthenticator } from '../auth/callers/authenticate.ts';
import type { Authorizer } from '../auth/rules/authorize.ts';
import type { ClusterStore } from '../cache/model/store.ts';
import type { ClusterSpec } from '../cache/model/records.ts';
import type { User } from '../cache/model/user.ts';
import type { OpenStreams } from '../routing/forward/open-streams.ts';
import type { Connections } from '../routing/members/target.ts';
import type { AllowedSubresources } from './api/index/index-subresources.ts';
import type { Admission } from './limits/admission.ts';
import type { Audit } from './audit/recorder.ts';
import type { Authorized } from './exchange.ts';
import type { Log } from './operations/log.ts';
import type { RequestMetrics } from './operations/metrics.ts';
import type { OutgoingStreams } from './open-streams/outgoing-streams.ts';
import type { StreamReviews } from './open-streams/stream-reviews.ts';
import type { Tracing } from './tracing/request-trace.ts';

/** What every step gets as its second argument. */
export interface ChainDependencies {
  readonly authenticate: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly admission: Admission;
  /** Undefined without an audit policy. */
  readonly audit?: Audit | undefined;
  /** Undefined unless requests are traced. */
  readonly tracing?: Tracing | undefined;
  readonly clusters: Pick<ClusterStore, 'get' | 'list' | 'subscribe'>;
  readonly connections: Connections;
  /**
   * The identity a member sees, by the rules of this moment (auth/outgoing/outgoing.ts).
   * @throws GatewayError for a user who must not go out
   */
  readonly outgoingIdentity: (user: User, cluster: ClusterSpec) => User;
  /** Ends streams whose outgoing identity the rules have changed; absent where none can last. */
  readonly outgoingStreams?: OutgoingStreams;
  readonly openStreams: OpenStreams;
  /** Absent where nobody's rights can change while a stream is open (`--identity=self`). */
  readonly streamReviews?: StreamReviews;
  readonly metrics: RequestMetrics;
  readonly log: Log;
  /** Answers what the gateway itself serves; the promise ends with the exchange. */
  readonly answerLocally: (state: Authorized) => void | Promise<void>;
  /** `--cluster-domain`, lower case, or undefined. */
  readonly clusterDomain: string | undefined;
  /** Subresources that are forwarded below Clusterpedia's path of a cluster; absent: none. */
  readonly forwardedSubresources?: AllowedSubresources | undefined;
  /** Longest wait for the first byte of a short request. */
  readonly firstByteTimeoutMs: number;
  /** True once new requests are refused because the process is about to end. */
  readonly refusing: () => boolean;
}
