// One audit.k8s.io/v1 Event as a line of JSON, fields in kube-apiserver's order. Easy to get wrong: an event is written
// by hand for speed, so whatever came from outside goes through JSON.stringify, and no header but User-Agent is ever
// looked at.
import type { User } from '../../cache/model/user.ts';
import type { AuditStage } from './policy.ts';

/** Everything one event says. */
export interface AuditEvent {
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  /** Undefined: nobody could be authenticated. */
  readonly user: User | undefined;
  /** As whom the request was made, where that is somebody else. */
  readonly impersonatedUser: User | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  /** Undefined for requests that are about no resource. */
  readonly objectRef: ObjectReference | undefined;
  /** Undefined before there is one. */
  readonly responseStatus: ResponseStatus | undefined;
  /** Both metav1.MicroTime: RFC 3339 in UTC with six digits, see audit-clock.ts. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations: readonly (readonly [key: string, value: string])[];
}

/** audit.k8s.io/v1 ObjectReference; '' is left out. */
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

/** The part of a metav1.Status that is known here. */
export interface ResponseStatus {
  readonly code: number;
  readonly status?: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
}

/** The event as one line, without line end. */
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

/** A request for a resource always has one, so that the others can follow a comma. */
function objectRefJson(ref: ObjectReference): string {
  let text = `{"resource":${JSON.stringify(ref.resource)}`;
  if (ref.namespace !== '') text += `,"namespace":${JSON.stringify(ref.namespace)}`;
  if (ref.name !== '') text += `,"name":${JSON.stringify(ref.name)}`;
  if (ref.uid !== '') text += `,"uid":${JSON.stringify(ref.uid)}`;
  if (ref.apiGroup !== '') text += `,"apiGroup":${JSON.stringify(ref.apiGroup)}`;
  if (ref.apiVersion !== '') text += `,"apiVersion":${JSON.stringify(ref.apiVersion)}`;
  if (ref.resourceVersion !== '') text += `,"resourceVersion":${JSON.stringify(ref.resourceVersion)}`;
  if (ref.subresource !== '') text += `,"subresource":${JSON.stringify(ref.subresource)}`;
  return `${text}}`;
}

/** `metadata` is no pointer in Go, so it is always there. */
function statusJson({ code, ...rest }: ResponseStatus): string {
  if (rest.status === undefined && rest.message === undefined) return `{"metadata":{},"code":${code}}`;
  return JSON.stringify({ metadata: {}, ...rest, code });
}

/** Users are frozen and live as long as their credential, so each is written once. */
const written = new WeakMap<User, string>();

/** authentication.k8s.io/v1 UserInfo. */
export function userJson(user: User): string {
  let text = written.get(user);
  if (text === undefined) {
    const { name, uid, groups, extra } = user;
    text = JSON.stringify({
      username: name,
      ...(uid === '' ? {} : { uid }),
      ...(groups.length === 0 ? {} : { groups }),
      // fromEntries defines own properties, so that a key `__proto__` is a key.
      ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    });
    written.set(user, text);
  }
  return text;
}

const longestUserAgent = 1024;

/**
 * The header as Go reads it: UTF-8, cut where kube-apiserver cuts it. @param value as received, one character a byte
 */
export function auditedUserAgent(value: string | undefined): string {
  if (value === undefined) return '';
  const cut = value.length > longestUserAgent;
  const bytes = cut ? value.slice(0, longestUserAgent) : value;
  const text = /[\x80-\xff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
  return cut ? `${text}...TRUNCATED` : text;
}
