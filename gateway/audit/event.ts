// Writes one audit.k8s.io/v1 Event as a line of JSON, with fields in kube-apiserver's order. For speed the line is put
// together by hand. Security: every text that comes from outside must go through JSON.stringify. The only header in an
// event is User-Agent.
import type { User } from '../../model/user.ts';
import type { AuditStage } from '../../request/audit-trail.ts';

/** The content of one audit event. */
export interface AuditEvent {
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  /** The authenticated caller; undefined when authentication failed. */
  readonly user: User | undefined;
  /** The user whom the caller impersonated; undefined when the caller impersonated nobody. */
  readonly impersonatedUser: User | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  /** The Kubernetes object or type that the request is for; undefined for requests for non-resource paths. */
  readonly objectRef: ObjectReference | undefined;
  /** Status of the answer; undefined in events that are written before the answer. */
  readonly responseStatus: ResponseStatus | undefined;
  /** This timestamp and `stageTimestamp` are metav1.MicroTime: RFC 3339 in UTC with six digits after the second. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations: readonly (readonly [key: string, value: string])[];
}

/** audit.k8s.io/v1 ObjectReference. A field that is '' is left out of the event. */
export interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  readonly subresource: string;
}

/** The fields of a metav1.Status that an audit event shows. */
export interface ResponseStatus {
  readonly code: number;
  readonly status?: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
}

/** The event as one line of JSON, without a newline. */
export function eventLine(event: AuditEvent): string {
  const { objectRef, responseStatus, annotations, impersonatedUser } = event;
  let line =
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":${JSON.stringify(event.auditId)}` +
    `,"stage":"${event.stage}","requestURI":${JSON.stringify(event.requestUri)},"verb":"${event.verb}"` +
    `,"user":${event.user === undefined ? '{}' : userJson(event.user)}`;
  if (impersonatedUser !== undefined) line += `,"impersonatedUser":${userJson(impersonatedUser)}`;
  if (event.sourceIPs.length > 0) line += `,"sourceIPs":${JSON.stringify(event.sourceIPs)}`;
  if (event.userAgent !== '') line += `,"userAgent":${JSON.stringify(event.userAgent)}`;
  if (objectRef !== undefined) line += `,"objectRef":${objectRefJson(objectRef)}`;
  if (responseStatus !== undefined) line += `,"responseStatus":${statusJson(responseStatus)}`;
  line += `,"requestReceivedTimestamp":"${event.requestReceivedTimestamp}","stageTimestamp":"${event.stageTimestamp}"`;
  if (annotations.length === 0) return `${line}}`;
  line += ',"annotations":{';
  for (let i = 0; i < annotations.length; i++) {
    const [key, value] = annotations[i]!;
    line += `${i === 0 ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(value)}`;
  }
  return `${line}}}`;
}

const furtherFields = ['namespace', 'name', 'uid', 'apiGroup', 'apiVersion', 'resourceVersion', 'subresource'] as const;

/** The JSON of an objectRef. `resource` is always written first, so every further field can begin with a comma. */
function objectRefJson(ref: ObjectReference): string {
  let text = `{"resource":${JSON.stringify(ref.resource)}`;
  for (const field of furtherFields) if (ref[field] !== '') text += `,"${field}":${JSON.stringify(ref[field])}`;
  return `${text}}`;
}

/**
 * The JSON of a responseStatus. It always has an empty `metadata`, as in kube-apiserver, where that field of the Go
 * type is a struct and not a pointer.
 */
function statusJson({ code, ...rest }: ResponseStatus): string {
  if (rest.status === undefined && rest.message === undefined) return `{"metadata":{},"code":${code}}`;
  return JSON.stringify({ metadata: {}, ...rest, code });
}

/**
 * The JSON of each user, made once, because a User object never changes. The WeakMap drops the JSON together with the
 * User object.
 */
const written = new WeakMap<User, string>();

/** The user as JSON of authentication.k8s.io/v1 UserInfo. */
export function userJson(user: User): string {
  let text = written.get(user);
  if (text === undefined) {
    const { name, uid, groups, extra } = user;
    text = JSON.stringify({
      username: name,
      ...(uid === '' ? {} : { uid }),
      ...(groups.length === 0 ? {} : { groups }),
      // Security: with Object.fromEntries, a key `__proto__` becomes an ordinary key and does not change the prototype.
      ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    });
    written.set(user, text);
  }
  return text;
}

const longestUserAgent = 1024;

/**
 * The User-Agent of an audit event: as UTF-8, cut after 1024 characters as in kube-apiserver.
 * @param value the header as received, one character per byte (latin1)
 */
export function auditedUserAgent(value: string | undefined): string {
  if (value === undefined) return '';
  const cut = value.length > longestUserAgent;
  const bytes = cut ? value.slice(0, longestUserAgent) : value;
  const text = /[\x80-\xff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
  return cut ? `${text}...TRUNCATED` : text;
}
