// Verb and resource of a request, from method, path and query, by the rules of
// k8s.io/apiserver/pkg/endpoints/request/requestinfo.go: a GET is a list or watch, a DELETE a deletecollection. An
// upgrade has the verb of the same request without it, so a watch over WebSocket is `watch`. Only what starts something
// in a container is `create`, see {@link startsInContainer}.
import { GatewayError } from '../../cache/model/errors.ts';
import { pinnedName } from './field-selector.ts';

/** What a request is about; the same type for our own API and for the inner path of a member. */
export interface RequestInfo {
  readonly verb: string;
  readonly isResource: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Segments behind the subresource, or behind the name where there is none. */
  readonly parts: readonly string[];
}

const verbOfMethod: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** Verb by the method alone, as an aggregating API server sees a subresource; '' for methods without one. */
export function methodVerb(method: string): string {
  return verbOfMethod.get(method) ?? '';
}

const nonResourceVerb: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'head'],
  ['POST', 'post'],
  ['PUT', 'put'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
  ['OPTIONS', 'options'],
]);
/**
 * Subresources by which an upgrade starts something in a container. Other groups use the same names, as KubeVirt does.
 */
const startedSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);
const longRunningSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/**
 * Reads what a request asks for.
 * @param segments decoded segments of the one path parser; @param query raw, with or without `?`
 * @throws GatewayError BAD_PATH for `/api/v1/watch` and the like, which name a verb and no resource
 */
export function requestInfo(
  method: string,
  segments: readonly string[],
  query: string,
  isUpgrade: boolean,
): RequestInfo {
  const versionAt = versionIndex(segments);
  if (versionAt < 0) return nonResource(method);
  let rest = segments.slice(versionAt + 1);
  const legacyVerb = legacyVerbOf(rest);
  if (legacyVerb !== undefined) rest = rest.slice(1);
  const namespace = rest[0] === 'namespaces' && rest.length > 1 ? rest[1]! : '';
  if (isInNamespace(rest)) rest = rest.slice(2);
  const resource = rest[0] ?? '';
  const named = rest[1] ?? '';
  const subresource = rest.length >= 3 && legacyVerb !== 'proxy' ? rest[2]! : '';
  const apiGroup = versionAt === 1 ? '' : segments[1]!;

  const asked = legacyVerb ?? methodVerb(method);
  let verb = named === '' ? collectionVerb(asked, query) : asked;
  if (isUpgrade && legacyVerb === undefined && startsInContainer(apiGroup, resource, subresource)) verb = 'create';
  return {
    verb,
    isResource: true,
    apiGroup,
    apiVersion: segments[versionAt]!,
    namespace,
    resource,
    subresource,
    name: named === '' && asked === 'get' ? selectedName(query) : named,
    parts: rest.slice(subresource === '' ? 2 : 3),
  };
}

/** Index of the version in `/api/<version>/…` and `/apis/<group>/<version>/…`; -1 for a path that names no resource. */
function versionIndex(segments: readonly string[]): number {
  if (segments[0] === 'api' && segments.length >= 3) return 1;
  return segments[0] === 'apis' && segments.length >= 4 ? 2 : -1;
}

/**
 * The verb in `/api/v1/watch/pods`. Here and below segments are compared and not looked up in Sets: a segment is a new
 * string, and one look-up of it costs as much as all the comparisons (measured).
 */
function legacyVerbOf(rest: readonly string[]): string | undefined {
  const first = rest[0];
  if (first !== 'proxy' && first !== 'watch') return undefined;
  if (rest.length < 2) throw new GatewayError('BAD_PATH', 'the path names no resource');
  return first;
}

function nonResource(method: string): RequestInfo {
  return {
    verb: nonResourceVerb.get(method) ?? '',
    isResource: false,
    apiGroup: '',
    apiVersion: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
  };
}

/** Whether `namespaces/<name>` is only where the resource is, and not the resource itself. */
function isInNamespace(rest: readonly string[]): boolean {
  return rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize';
}

/** The verb of a request that names no object. */
function collectionVerb(verb: string, query: string): string {
  if (verb === 'get') return queryFlag(query, 'watch') ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

function selectedName(query: string): string {
  return (query.length > 1 ? pinnedName((key) => queryValue(query, key)) : undefined) ?? '';
}

/**
 * Whether an upgrade on this is authorized as `create`, whatever its method. A GET over WebSocket was `get` to
 * kube-apiserver, so that the right to read ran commands; since 1.35 it asks for `create` as well
 * (AuthorizePodWebsocketUpgradeCreatePermission, pkg/registry/core/pod/rest/authorize.go). It does not for the
 * kubelet's own exec, attach and port-forward behind `nodes/<name>/proxy`, the only things a kubelet upgrades; here
 * they are the same. Behind `pods/proxy` and `services/proxy` is an application, and the verb is that of the method, as
 * it is to kube-apiserver.
 */
function startsInContainer(apiGroup: string, resource: string, subresource: string): boolean {
  return startedSubresources.has(subresource) || (apiGroup === '' && resource === 'nodes' && subresource === 'proxy');
}

/** True for requests without a deadline: kube-apiserver's long-running set (verbs watch, proxy; five subresources). */
export function isLongRunning(info: RequestInfo): boolean {
  return (
    info.verb === 'watch' ||
    info.verb === 'proxy' ||
    (info.isResource && info.subresource !== '' && longRunningSubresources.has(info.subresource))
  );
}

/** First value of a query parameter, read as Go's url.ParseQuery does: pairs with `;` or bad escapes are dropped. */
export function queryValue(query: string, key: string): string | undefined {
  let to: number;
  for (let from = query[0] === '?' ? 1 : 0; from < query.length; from = to + 1) {
    to = query.indexOf('&', from);
    if (to < 0) to = query.length;
    const behind = behindName(query, from, to, key);
    if (behind < 0) continue;
    const pair = query.slice(from, to);
    if (pair.includes(';')) continue;
    const value = unescapeQuery(pair.slice(behind - from + 1));
    if (value !== undefined) return value;
  }
  return undefined;
}

/**
 * Offset behind the name of a pair when that is `key` in any spelling, otherwise -1. It compares letter by letter: a
 * query may hold tens of thousands of pairs and is read before authentication, and decoding each name took a tenth of a
 * second.
 * @param key ASCII
 */
function behindName(query: string, from: number, to: number, key: string): number {
  let at = from;
  for (let i = 0; i < key.length; i++) {
    if (at >= to) return -1;
    let code = query.charCodeAt(at);
    at += 1;
    if (code === percent) {
      const hex = query.slice(at, Math.min(at + 2, to));
      if (!twoHexDigits.test(hex)) return -1;
      code = Number.parseInt(hex, 16);
      at += 2;
    } else if (code === equals) return -1;
    else if (code === plus) code = blank;
    if (code !== key.charCodeAt(i)) return -1;
  }
  return at === to || query.charCodeAt(at) === equals ? at : -1;
}

const percent = 0x25;
const plus = 0x2b;
const equals = 0x3d;
const blank = 0x20;
const twoHexDigits = /^[0-9A-Fa-f]{2}$/;

/**
 * A boolean parameter as apimachinery converts it: absent, `false` and `0` are false, anything else true.
 * @throws GatewayError BAD_REQUEST for `falſe`, with the long s of U+017F: strings.EqualFold takes it for `false` and
 *   strings.ToLower does not, and Kubernetes decides by either whether a request is a watch
 */
export function queryFlag(query: string, key: string): boolean {
  if (!query.includes(key) && !query.includes('%')) return false;
  const value = queryValue(query, key)?.toLowerCase();
  if (value === 'fal\u017fe') throw new GatewayError('BAD_REQUEST', `${key}= is neither true nor false`);
  return value !== undefined && value !== 'false' && value !== '0';
}

/**
 * Go's url.QueryUnescape: undefined for a bad escape, but a text for bytes that are not UTF-8 (`watch=%ff` watches).
 */
export function unescapeQuery(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === percent) {
      bytes[length++] = hexDigit(text.charCodeAt(at + 1)) * 16 + hexDigit(text.charCodeAt(at + 2));
      at += 2;
    } else bytes[length++] = code === plus ? blank : code;
  }
  return bytes.toString('utf8', 0, length);
}

/** The value of a digit that is known to be one. */
function hexDigit(code: number): number {
  return (code & 15) + (code > 0x39 ? 9 : 0);
}
