// What the chain knows of tracing: types only, so that naming them loads nothing. Easy to get wrong: an import of a value from here or from
// OpenTelemetry would be paid by everybody who never asked for a trace.
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { Authenticated, Located } from '../exchange.ts';

/** Decides which requests have spans. */
export interface Tracing {
  /** The caller is known; `observation.trace` is set when this request is traced. */
  begin(state: Authenticated): void;
}

/** The spans of one request that is traced; they end with the exchange. */
export interface RequestTrace {
  /** The headers for the one member of this request: its `traceparent` names the span of that call. */
  memberHeaders(state: Located): RawHeaders;
  /** A call to one of several members, ended by whoever made it. */
  toMember(headers: RawHeaders, cluster: ClusterSpec): MemberTrace;
}

/** The span of one call to a member. */
export interface MemberTrace {
  readonly headers: RawHeaders;
  /** @param status of the member's answer, 0 when there was none; @param error why not, or why it was cut */
  end(status: number, error?: unknown): void;
}
