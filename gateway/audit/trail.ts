// Builds an audit event from the state of a request. The event uses the same verbs as the cluster's own audit log (an
// exec by GET has the verb `get`), so that both logs can be compared.
import { memberView } from '../../auth/rules/impersonation.ts';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { headerValues } from '../../http/raw-headers.ts';
import { auditedUserAgent } from './event.ts';
import type { AuditEvent, ObjectReference, ResponseStatus } from './event.ts';
import { sourceIPs } from './source-ips.ts';
import { auditedUri } from './uri.ts';
import type { Authenticated, Described, Impersonating, Observed } from '../../request/exchange.ts';
import { pathInCluster } from '../../request/proxying-request.ts';
import { decodedPath } from '../../request/path.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type {
  AuditStage,
  AuditTrail,
  AuditedRequest,
  BodyMetadata,
  BodyMetadataReader,
} from '../../request/audit-trail.ts';

/**
 * The state of a request when an audit event is written. Fields that are set by later steps of the chain, which the
 * request has not reached, are undefined.
 */
export type AuditedState = Observed &
  Described &
  Partial<Omit<Impersonating, keyof Observed | keyof Described>> &
  Partial<Pick<Authenticated, 'caller'>>;

/**
 * The request as the cluster's audit log describes it. For an exec or port-forward, the verb follows from
 * the HTTP method: `get` for GET, `create` for POST.
 */
export function plainInfo(state: Described): RequestInfo {
  const { upgrade, inbound, surface, target, info } = state;
  const inCluster = pathInCluster(state);
  if (upgrade === undefined && (inCluster === undefined || surface.kind === 'member')) return info;
  return requestInfo(inbound.method, (inCluster ?? target).segments, target.query, false);
}

/** The properties of a request that rules of the audit policy are matched with. */
export function auditedRequest(state: Described, info: RequestInfo, caller: User | undefined): AuditedRequest {
  const { verb, isResource, apiGroup, resource, subresource, namespace, name } = info;
  const { path: received, segments } = pathInCluster(state) ?? state.target;
  const path = decodedPath(received, segments);
  return { caller, verb, isResource, apiGroup, resource, subresource, namespace, name, path };
}

/** One audit event of a request, at the given stage. */
export function eventOf(
  state: AuditedState,
  trail: Pick<AuditTrail, 'info' | 'receivedTimestamp' | 'body'>,
  stage: AuditStage,
  responseStatus: ResponseStatus | undefined,
  nowTimestamp: string,
): AuditEvent {
  const { inbound, peer, auditId, caller } = state;
  const isReceived = stage === 'RequestReceived';
  return {
    auditId,
    stage,
    requestUri: auditedUri(inbound.target),
    verb: trail.info.verb,
    user: caller,
    impersonatedUser: caller === undefined ? undefined : otherUser(state, caller),
    sourceIPs: sourceIPs(inbound.headers, peer.address),
    userAgent: auditedUserAgent(headerValues(inbound.headers, 'user-agent')[0]),
    objectRef: objectRef(trail.info, bodyMetadata(trail.body, responseStatus)),
    responseStatus,
    requestReceivedTimestamp: trail.receivedTimestamp,
    stageTimestamp: isReceived ? trail.receivedTimestamp : nowTimestamp,
    annotations: isReceived ? [] : annotationsOf(state, stage),
  };
}

/**
 * Status of the answer. An error that the gateway answered is shown with reason and message; an answer of the cluster
 * only with its HTTP status.
 */
export function responseStatus({ observation, progress }: Observed): ResponseStatus {
  const { error } = observation;
  // kube-apiserver writes this status when the client left before the answer began (endpoints/filters/audit.go).
  if (progress.status === 0) return { status: 'Success', message: 'Connection closed early', code: 200 };
  if (!(error instanceof GatewayError) || error.status !== progress.status) return { code: progress.status };
  return { status: 'Failure', message: error.message, reason: error.reason, code: progress.status };
}

/**
 * Status of a request whose authentication failed. Its message names the kinds of credentials that the request carried,
 * in kube-apiserver's words (endpoints/filters/authn_audit.go).
 */
export function failedAuthentication({ inbound, peer }: Observed): ResponseStatus {
  const tried: string[] = [];
  const [authorization = ''] = headerValues(inbound.headers, 'authorization');
  if (/^\s*basic\s/i.test(authorization)) tried.push('basic');
  if (/^\s*bearer\s/i.test(authorization)) tried.push('bearer');
  if (peer.certificates.length > 0) tried.push('x509');
  const message =
    tried.length === 0
      ? 'Authentication failed, no credentials provided'
      : `Authentication failed, attempted: ${tried.join(', ')}`;
  return { message, code: 401 };
}

/** The user that the cluster saw, or will see; undefined when it is the caller itself. */
function otherUser({ user, outgoing }: AuditedState, caller: User): User | undefined {
  const seen = outgoing === undefined ? user : memberView(outgoing);
  return seen === undefined || seen === caller || canonical(seen) === canonical(caller) ? undefined : seen;
}

const canonicals = new WeakMap<User, string>();

/** A text for comparing users: it is the same for two users that differ only in the order of groups or extra. */
function canonical(user: User): string {
  let text = canonicals.get(user);
  if (text === undefined) {
    text = JSON.stringify([user.name, user.uid, user.groups.toSorted(), user.extra.toSorted()]);
    canonicals.set(user, text);
  }
  return text;
}

/**
 * Metadata from the request body, for an audit event. kube-apiserver reads the body only after authorization, so
 * nothing from the body is shown for a refused request. Every 403 is treated as a refusal by RBAC, because a 403 of an
 * admission plugin looks the same.
 */
function bodyMetadata(body: BodyMetadataReader | undefined, status: ResponseStatus | undefined): BodyMetadata {
  if (body === undefined || status === undefined || status.code === 401 || status.code === 403) return {};
  return body.found();
}

function objectRef(info: RequestInfo, body: BodyMetadata): ObjectReference | undefined {
  if (!info.isResource) return undefined;
  return {
    resource: info.resource,
    namespace: info.namespace || (body.namespace ?? ''),
    name: info.name || (body.name ?? ''),
    uid: body.uid ?? '',
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    resourceVersion: body.resourceVersion ?? '',
    subresource: info.subresource,
  };
}

const prefix = 'gateway.portcullis.io/';

function annotationsOf(state: AuditedState, stage: AuditStage): readonly (readonly [string, string])[] {
  const { observation, progress, user, upgrade } = state;
  const { cluster, authorization, error, longRunning } = observation;
  const annotations: [string, string][] = [];
  const isAllowed = authorization?.allowed ?? (user === undefined ? undefined : true);
  if (isAllowed !== undefined) {
    annotations.push(['authorization.k8s.io/decision', isAllowed ? 'allow' : 'forbid']);
    annotations.push(['authorization.k8s.io/reason', authorization?.reason ?? '']);
  }
  if (cluster !== '') annotations.push([`${prefix}cluster`, cluster]);
  if (progress.sentAtMs !== 0 && progress.firstByteAtMs !== 0) {
    const latencyMs = Math.max(0, progress.firstByteAtMs - progress.sentAtMs);
    annotations.push([`${prefix}upstream-latency`, `${latencyMs.toFixed(3)}ms`]);
  }
  if (!longRunning || stage !== 'ResponseComplete') return annotations;
  annotations.push([`${prefix}ending`, progress.ending === 'open' ? 'complete' : progress.ending]);
  if (error instanceof GatewayError && error.status !== progress.status)
    annotations.push([`${prefix}reason`, error.message]);
  if (upgrade !== undefined && progress.status === 101) {
    annotations.push([`${prefix}bytes-from-client`, String(progress.bytesIn)]);
    annotations.push([`${prefix}bytes-to-client`, String(progress.bytesOut)]);
  }
  return annotations;
}
