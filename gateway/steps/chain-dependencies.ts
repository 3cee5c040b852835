// Everything that the steps of the chain may use, passed to them as one object. Rules, tokens and certificates can
// change while the gateway runs, so they are behind functions that read the present value.
import type { FanoutDependencies } from '../../api/fanout/members/dependencies.ts';
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import type { ClusterSpec } from '../../model/records.ts';
import type { User } from '../../model/user.ts';
import type { AllowedSubresources } from '../../request/index-subresources.ts';
import type { ConsoleRequest } from '../console/console.ts';
import type { Admission } from '../limits/admission.ts';
import type { Audit } from '../audit/recorder.ts';
import type { Authorized } from '../../request/exchange.ts';
import type { Log } from '../../lib/log.ts';
import type { RequestMetrics } from '../operations/metrics.ts';
import type { OutgoingStreams } from '../open-streams/outgoing-streams.ts';
import type { StreamReviews } from '../open-streams/stream-reviews.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';
import type { Tracing } from '../tracing/request-trace.ts';

/** The second argument of every step of the chain. */
export interface ChainDependencies extends FanoutDependencies {
  readonly authenticate: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly admission: Admission;
  /** The audit log; undefined when nothing is audited. */
  readonly audit?: Audit | undefined;
  /** Tracing; undefined when nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /**
   * The user that a cluster sees for a caller, by the present rules (auth/outgoing/outgoing.ts).
   * @throws GatewayError for a user that no cluster may see
   */
  readonly outgoingIdentity: (user: User, cluster: ClusterSpec) => User;
  /**
   * Ends open streams when a change of the rules gives their user another identity in the cluster; undefined when
   * streams are not checked for such changes.
   */
  readonly outgoingStreams?: OutgoingStreams;
  /**
   * Checks regularly whether callers of open streams still have the right to them; undefined when open streams are not
   * checked again.
   */
  readonly streamReviews?: StreamReviews;
  readonly metrics: RequestMetrics;
  readonly log: Log;
  /**
   * Answers a request for the gateway's own API. When it returns a promise, the promise resolves once the whole answer
   * has been sent.
   */
  readonly answerLocally: (state: Authorized) => void | Promise<void>;
  /** Answers requests for the web console; undefined when the gateway serves no console. */
  readonly console?: ((request: ConsoleRequest) => CompleteResponse) | undefined;
  /** The value of `--cluster-domain` in lower case; undefined when it was not given. */
  readonly clusterDomain: string | undefined;
  /** Subresources (such as pods/log) below Clusterpedia's paths that are forwarded to clusters; absent means none. */
  readonly forwardedSubresources?: AllowedSubresources | undefined;
  /** True while new requests are refused because the process is ending. */
  readonly refusing: () => boolean;
}
