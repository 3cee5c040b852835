// Finds verb and resource of a request by the rules of kube-apiserver
// (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go): a GET may be a get, list or watch, a DELETE may be a
// deletecollection. A connection upgrade has the verb that the same request would have without the upgrade, so a watch
// over WebSocket is `watch`. Only upgrades for which {@link startsInContainer} is true have the verb `create`.
import { GatewayError } from '../model/errors.ts';
import { pinnedName } from './field-selector.ts';

/** Verb, resource and name that a request is about, for the gateway's own API as well as for requests to clusters. */
export interface RequestInfo {
  readonly verb: string;
  readonly isResource: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The path segments after the subresource, or after the name when there is no subresource. */
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

/**
 * The verb for an HTTP method alone (`POST` is `create`), as an aggregating API server uses it for a request to a
 * subresource; '' for methods without a verb.
 */
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
 * Subresources with which a client runs something in a container over an upgraded connection. They also exist in other
 * API groups than the core group, for example in KubeVirt's.
 */
const startedSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);
const longRunningSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/**
 * Finds verb, resource and name of a request.
 * @param segments decoded segments from parseTarget
 * @param query as received, with or without `?`
 * @throws GatewayError BAD_PATH for paths such as `/api/v1/watch`, which have a verb but no resource
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

/** Index of the version in `/api/<version>/…` or `/apis/<group>/<version>/…`; -1 when the path names no resource. */
function versionIndex(segments: readonly string[]): number {
  if (segments[0] === 'api' && segments.length >= 3) return 1;
  return segments[0] === 'apis' && segments.length >= 4 ? 2 : -1;
}

/**
 * The verb in old-style paths such as `/api/v1/watch/pods`. Here and in the functions below, segments are compared one
 * by one and not looked up in a Set: hashing a new string for one look-up costs as much as all comparisons (measured).
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

/**
 * True when `namespaces/<name>` in the path only says in which namespace the resource is. False when the request is
 * about the Namespace object itself.
 */
function isInNamespace(rest: readonly string[]): boolean {
  return rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize';
}

/** The verb of a request for a collection: `list`, `watch`, `deletecollection`, or `verb` unchanged. */
function collectionVerb(verb: string, query: string): string {
  if (verb === 'get') return queryFlag(query, 'watch') ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

function selectedName(query: string): string {
  return (query.length > 1 ? pinnedName((key) => queryValue(query, key)) : undefined) ?? '';
}

/**
 * Whether an upgrade is authorized as `create`, whatever its HTTP method. kube-apiserver used to authorize an exec by
 * GET over WebSocket as `get`, so that the right to read pods ran commands. Since 1.35 it also asks for `create`
 * (AuthorizePodWebsocketUpgradeCreatePermission, pkg/registry/core/pod/rest/authorize.go), but not for exec, attach and
 * port-forward of the kubelet behind `nodes/<name>/proxy`. The gateway asks for `create` in both cases. Behind
 * `pods/proxy` and `services/proxy` is an application, and the verb is that of the HTTP method, as in kube-apiserver.
 */
function startsInContainer(apiGroup: string, resource: string, subresource: string): boolean {
  return startedSubresources.has(subresource) || (apiGroup === '' && resource === 'nodes' && subresource === 'proxy');
}

/**
 * True for requests that have no deadline. As in kube-apiserver, these are the verbs watch and proxy, and five
 * subresources.
 */
export function isLongRunning(info: RequestInfo): boolean {
  return (
    info.verb === 'watch' ||
    info.verb === 'proxy' ||
    (info.isResource && info.subresource !== '' && longRunningSubresources.has(info.subresource))
  );
}

/**
 * The first value of the query parameter `key`; undefined when the parameter is absent. As in Go's url.ParseQuery,
 * parameters with `;` or invalid escapes are ignored.
 */
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
 * The position after the name of the query parameter at `from`, when this name is `key`, escaped or not; otherwise -1.
 * The name is compared character by character: a query may hold tens of thousands of parameters and is read before
 * authentication, and decoding all names took a tenth of a second.
 * @param key the name, ASCII only
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
 * A boolean query parameter, read as apimachinery does: absent, `false` and `0` are false, anything else is true.
 * @throws GatewayError BAD_REQUEST for `falſe`, with U+017F. Go's strings.EqualFold equates this text with `false`, but
 * strings.ToLower does not, and Kubernetes uses both functions to decide whether a request is a watch
 */
export function queryFlag(query: string, key: string): boolean {
  if (!query.includes(key) && !query.includes('%')) return false;
  const value = queryValue(query, key)?.toLowerCase();
  if (value === 'fal\u017fe') throw new GatewayError('BAD_REQUEST', `${key}= must be true or false`);
  return value !== undefined && value !== 'false' && value !== '0';
}

/**
 * Decodes a part of a query like Go's url.QueryUnescape. Undefined for an invalid escape. Bytes that are not UTF-8 are
 * accepted (`watch=%ff` is a watch).
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

/** The value of a hexadecimal digit, given as its character code. */
function hexDigit(code: number): number {
  return (code & 15) + (code > 0x39 ? 9 : 0);
}
