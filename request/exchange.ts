// The state of one request after each step of the chain (gateway/chain.ts), as types that extend one another: a step
// can use only what earlier steps have established. Security: from `Authorized` on, steps must read `headers`, which
// hold no credential of the caller, and never `inbound.headers`.
import type { AttributesCluster } from '../auth/rules/attributes.ts';
import type { Decision } from '../auth/rules/authorize.ts';
import type { ClusterRecord, Credential, ClusterSpec } from '../model/records.ts';
import type { User } from '../model/user.ts';
import type { Arrival, Peer } from '../http/arrival.ts';
import type { Inbound, InboundUpgrade } from '../http/inbound.ts';
import type { Progress } from '../routing/forward/stream.ts';
import type { Connection, Target } from '../routing/members/target.ts';
import type { RawHeaders } from '../http/raw-headers.ts';
import type { UpgradeToken } from '../http/upgrade-offer.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { ClusterAccess } from './cluster-access.ts';
import type { ParsedTarget } from './path.ts';
import type { RequestInfo } from './request-info.ts';
import type { Surface } from './routes.ts';

/**
 * Makes the fields of a state writable, for the functions in this file that move a request to its next state. A request
 * is one object, and each step adds fields to it: copying the object at every step cost more than all steps together
 * (measured). Other code sees the states as readonly, so a step cannot change what another step has set. The functions
 * assign each field by name, because a loop over names cost 2 % of a request.
 */
type Open<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The one object behind all states of a request; the step `receive` makes it. All properties exist from the start: V8
 * turns an object that gains more than a dozen properties later into a dictionary, which made requests an eighth slower
 * (measured).
 */
export class RequestState {
  readonly inbound: Inbound;
  readonly upgradeInbound: InboundUpgrade | undefined;
  readonly host: string;
  readonly peer: Peer;
  readonly headFault: unknown;
  readonly auditId = undefined;
  readonly receivedAtMs = undefined;
  readonly progress = undefined;
  readonly fail = undefined;
  readonly observation = undefined;
  readonly target = undefined;
  readonly surface = undefined;
  readonly info = undefined;
  readonly upgrade = undefined;
  readonly caller = undefined;
  readonly user = undefined;
  readonly headers = undefined;
  readonly access = undefined;
  readonly authorizedCluster = undefined;
  readonly record = undefined;
  readonly credential = undefined;
  readonly connection = undefined;
  readonly outgoing = undefined;

  constructor({ inbound, upgradeInbound, host, peer, headFault }: Arrival) {
    this.inbound = inbound;
    this.upgradeInbound = upgradeInbound;
    this.host = host;
    this.peer = peer;
    this.headFault = headFault;
  }
}

/** State after the step `receive`: the request has an id and a time of arrival. */
export interface Received extends Arrival {
  /**
   * Sent to the client and to the cluster as `Audit-Id`, so that the audit logs of gateway and cluster can be matched.
   */
  readonly auditId: string;
  readonly receivedAtMs: number;
  readonly progress: Progress;
}

export function received(state: Arrival, auditId: string, receivedAtMs: number, progress: Progress): Received {
  const open = state as Open<Received>;
  open.auditId = auditId;
  open.receivedAtMs = receivedAtMs;
  open.progress = progress;
  return open;
}

/** State after the step `recover`: errors of later steps are answered with a Status. */
export interface Recoverable extends Received {
  /**
   * Answers the client with the error or, when the answer has already begun, cuts it, so that the client sees that it
   * is incomplete. Never throws.
   */
  readonly fail: (error: unknown) => void;
}

export function recoverable(state: Received, fail: Recoverable['fail']): Recoverable {
  const open = state as Open<Recoverable>;
  open.fail = fail;
  return open;
}

/** State after the step `observe`: metrics and log follow the request to its end. */
export interface Observed extends Recoverable {
  readonly observation: Observation;
}

export function observed(state: Recoverable, observation: Observation): Observed {
  const open = state as Open<Observed>;
  open.observation = observation;
  return open;
}

/**
 * What metrics, log and audit need to know about a request. Steps of the chain write these fields; metrics, log and
 * audit read them when the request has ended.
 */
export interface Observation {
  cluster: string;
  verb: string;
  resource: string;
  longRunning: boolean;
  error: unknown;
  /** The authorizer's last decision about this request; undefined until the authorizer has been asked. */
  authorization: Decision | undefined;
  /** Data about the request that the audit log keeps; undefined when the request is not audited. */
  audit: AuditTrail | undefined;
  /** The trace of the request; undefined when it is not traced. */
  trace: RequestTrace | undefined;
}

/** State after the step `describe`: path, verb and resource are known. */
export interface Described extends Observed {
  readonly target: ParsedTarget;
  readonly upgrade: UpgradeToken | undefined;
  readonly surface: Surface;
  /**
   * Verb and resource. For a path below a cluster (`/clusters/<name>/proxy/…`) they are those of the request that the
   * cluster will get, otherwise those of the request to the gateway's own API.
   */
  readonly info: RequestInfo;
}

export function described(
  state: Observed,
  { target, surface, info }: Pick<Described, 'target' | 'surface' | 'info'>,
  upgrade: Described['upgrade'],
): Described {
  const open = state as Open<Described>;
  open.target = target;
  open.surface = surface;
  open.info = info;
  open.upgrade = upgrade;
  return open;
}

/**
 * Turns a watch over WebSocket into an ordinary watch request: later steps do not treat it as an upgrade, and `inbound`
 * sends what they write as WebSocket messages.
 */
export function watchedOverWebSocket(state: Described, inbound: Inbound): Described {
  const open = state as Open<Described>;
  open.inbound = inbound;
  open.upgrade = undefined;
  return open;
}

/** State after the step `authenticate`: the caller is known. */
export interface Authenticated extends Described {
  readonly caller: User;
}

export function authenticated(state: Described, caller: User): Authenticated {
  const open = state as Open<Authenticated>;
  open.caller = caller;
  return open;
}

/**
 * State after the step `authorize`. `user` is the caller, or the user whom the caller impersonates. `headers` hold no
 * credential.
 */
export interface Authorized extends Omit<Authenticated, 'caller'> {
  readonly user: User;
  readonly headers: RawHeaders;
  /**
   * Permission checks for single clusters; undefined unless the request may go to several (`*`, Karmada's `proxying`,
   * `statistics`).
   */
  readonly access: ClusterAccess | undefined;
  /** The cluster as it was when the request was authorized; undefined for requests that name no cluster. */
  readonly authorizedCluster: AttributesCluster | undefined;
}

export function authorized(
  state: Authenticated,
  user: User,
  headers: RawHeaders,
  access: Authorized['access'],
  authorizedCluster: Authorized['authorizedCluster'],
): Authorized {
  const open = state as Omit<Authenticated, 'caller'> as Open<Authorized>;
  open.user = user;
  open.headers = headers;
  open.access = access;
  open.authorizedCluster = authorizedCluster;
  return open;
}

/** State after the step `dispatch`: the request is for a member cluster. */
export interface Dispatched extends Authorized {
  readonly surface: Extract<Surface, { kind: 'member' }>;
  /**
   * Sent to the cluster in place of the client's body, which the gateway has read already; absent when the client's
   * body is streamed to the cluster unchanged.
   */
  readonly body?: Buffer | undefined;
}

/** State after the step `locate`: cluster record, credential and connections, read at one moment. */
export interface Located extends Dispatched {
  readonly record: ClusterRecord;
  readonly credential: Credential;
  readonly connection: Connection;
}

export function located(state: Dispatched, { record, credential, connection }: Target): Located {
  const open = state as Open<Located>;
  open.record = record;
  open.credential = credential;
  open.connection = connection;
  return open;
}

/** State after the step `impersonate`: the user that the cluster will see. */
export interface Impersonating extends Located {
  readonly outgoing: User;
}

export function impersonating(state: Located, outgoing: User): Impersonating {
  const open = state as Open<Impersonating>;
  open.outgoing = outgoing;
  return open;
}

/** The OpenTelemetry spans of one request. They end with the request. */
export interface RequestTrace {
  /**
   * The headers for the request to a single cluster, with a `traceparent` that names the span of the call to this
   * cluster.
   */
  memberHeaders(state: Located): RawHeaders;
  /** Begins the span of a call to one of several clusters; the caller of this function must end the span. */
  toMember(headers: RawHeaders, cluster: ClusterSpec): MemberTrace;
}

/** The span of one call to a cluster. */
export interface MemberTrace {
  readonly headers: RawHeaders;
  /**
   * Ends the span.
   * @param status status of the cluster's answer; 0 when there was none
   * @param error why there was no answer or why it was cut
   */
  end(status: number, error?: unknown): void;
}
