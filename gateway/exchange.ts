// The state of one request at each stage of the chain, as types that build on one another: a step can only use what an
// earlier step has established. From Authorized on, steps read `headers`, which hold no credential of the caller, and
// never `inbound.headers`.
import type { AttributesCluster } from '../auth/rules/attributes.ts';
import type { Decision } from '../auth/rules/authorize.ts';
import type { ClusterRecord, Credential, ClusterSpec } from '../cache/model/records.ts';
import type { User } from '../cache/model/user.ts';
import type { Arrival, Peer } from '../http/arrival.ts';
import type { Inbound, InboundUpgrade } from '../http/inbound.ts';
import type { Progress } from '../routing/forward/stream.ts';
import type { Connection, Target } from '../routing/members/target.ts';
import type { RawHeaders } from '../http/raw-headers.ts';
import type { UpgradeToken } from '../routing/forward/upgrade.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { ClusterAccess } from './start/cluster-access.ts';
import type { ParsedTarget } from './request/path.ts';
import type { RequestInfo } from './request/request-info.ts';
import type { Surface } from './request/routes.ts';

/**
 * A stage as the function below writes it that moves a request there. The state of a request is one object that only
 * grows: a copy at every step had another shape each time and cost more than all steps together (measured). The stages
 * are readonly types, so a step cannot change what another has established. Each function names every part it writes,
 * as a loop over names cost 2 % of a request.
 */
type Open<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The object behind the stages below, made by `receive`. It has every property from the start: V8 turns an object that
 * gains more than a dozen of them later into a dictionary, which made a request an eighth slower (measured).
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
  readonly judged = undefined;
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

/** After `receive`: the request has an id and a clock. */
export interface Received extends Arrival {
  /** Returned as `Audit-Id` and sent to the member, so that both audit logs join. */
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

/** After `recover`: whatever is thrown from here on becomes a Status. */
export interface Recoverable extends Received {
  /** Answers with the error, or cuts the answer short when one has begun. Never throws. */
  readonly fail: (error: unknown) => void;
}

export function recoverable(state: Received, fail: Recoverable['fail']): Recoverable {
  const open = state as Open<Recoverable>;
  open.fail = fail;
  return open;
}

/** After `observe`: metrics and log see the request until it ends. */
export interface Observed extends Recoverable {
  readonly observation: Observation;
}

export function observed(state: Recoverable, observation: Observation): Observed {
  const open = state as Open<Observed>;
  open.observation = observation;
  return open;
}

/** What metrics, log and audit need of a request. The steps write it; it is read when the exchange is over. */
export interface Observation {
  cluster: string;
  verb: string;
  resource: string;
  longRunning: boolean;
  error: unknown;
  /** The last decision of the authorizer; undefined before it is asked. */
  authorization: Decision | undefined;
  /** Undefined: nothing is audited. */
  audit: AuditTrail | undefined;
  /** Undefined: the request is not traced. */
  trace: RequestTrace | undefined;
}

/** After `describe`. */
export interface Described extends Observed {
  readonly target: ParsedTarget;
  readonly upgrade: UpgradeToken | undefined;
  readonly surface: Surface;
  /** What the request asks for: of the member below a proxy path, otherwise of the gateway's own API. */
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

/** After `authenticate`. */
export interface Authenticated extends Described {
  readonly caller: User;
}

export function authenticated(state: Described, caller: User): Authenticated {
  const open = state as Open<Authenticated>;
  open.caller = caller;
  return open;
}

/**
 * After `authorize`: `user` is the caller, or the user that the caller may impersonate. `headers` hold nothing secret
 * any more.
 */
export interface Authorized extends Omit<Authenticated, 'caller'> {
  readonly user: User;
  readonly headers: RawHeaders;
  /** Only for a request that names several clusters. */
  readonly access: ClusterAccess | undefined;
  /** The cluster as it was when the rules decided; only for a request that names one. */
  readonly judged: AttributesCluster | undefined;
}

export function authorized(
  state: Authenticated,
  user: User,
  headers: RawHeaders,
  access: Authorized['access'],
  judged: Authorized['judged'],
): Authorized {
  const open = state as Omit<Authenticated, 'caller'> as Open<Authorized>;
  open.user = user;
  open.headers = headers;
  open.access = access;
  open.judged = judged;
  return open;
}

/** After `dispatch`: only requests for a member go on. */
export interface Dispatched extends Authorized {
  readonly surface: Extract<Surface, { kind: 'member' }>;
}

/** After `locate`: the record read once, its credential and its connections. */
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

/** After `impersonate`: the identity the member will see. */
export interface Impersonating extends Located {
  readonly outgoing: User;
}

export function impersonating(state: Located, outgoing: User): Impersonating {
  const open = state as Open<Impersonating>;
  open.outgoing = outgoing;
  return open;
}

/** The spans of one request that is traced; they end with the exchange. */
export interface RequestTrace {
  /** The headers for the one member of this request: its `traceparent` names the span of that call. */
  memberHeaders(state: Located): RawHeaders;
  /** A call to one of several members; the caller ends it. */
  toMember(headers: RawHeaders, cluster: ClusterSpec): MemberTrace;
}

/** The span of one call to a member. */
export interface MemberTrace {
  readonly headers: RawHeaders;
  /** @param status of the member's answer, 0 when there was none; @param error why not, or why it was cut */
  end(status: number, error?: unknown): void;
}
