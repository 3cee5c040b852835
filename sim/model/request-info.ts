// Determines verb, resource, namespace and name of a request from its method, path and query, as kube-apiserver's
// RequestInfoFactory does (apiserver/pkg/endpoints/request/requestinfo.go). `namespaces/x` is the Namespace object
// itself, but `namespaces/x/pods` is a list of pods.

/** What a request is for: verb, resource, namespace and name, or a non-resource path. */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /** The path, percent-decoded. */
  readonly path: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The segments of the path after group, version and namespace: resource, name, subresource and further ones. */
  readonly parts: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** Subresources of a Namespace. Any other third segment of `namespaces/x/y` is a resource in the namespace x. */
const namespaceSubresources = new Set(['status', 'finalize']);

/**
 * Determines verb, resource, namespace and name of a request. `path` must be percent-decoded and without a query
 * string.
 */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const none: RequestInfo = {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
  };
  const api = splitApi(path);
  if (api === undefined) return none;
  const { group, version } = api;
  let { parts } = api;

  let verb = verbs[method] ?? '';
  const viaPath = parts[0] === 'watch' || parts[0] === 'proxy';
  if (viaPath) {
    verb = parts[0] ?? '';
    parts = parts.slice(1);
  }
  const namespace = parts[0] === 'namespaces' ? (parts[1] ?? '') : '';
  if (isInNamespace(parts)) parts = parts.slice(2);
  const [resource = '', named = '', sub = ''] = parts;
  const subresource = viaPath ? '' : sub;
  let name = named;
  if (name === '' && verb === 'get') {
    verb = isTrue(query.get('watch')) ? 'watch' : 'list';
    name = exactName(query.get('fieldSelector'));
  }
  if (name === '' && verb === 'delete') verb = 'deletecollection';
  return { isResourceRequest: true, path, verb, group, version, namespace, resource, subresource, name, parts };
}

/**
 * Whether the path is inside a namespace, such as `namespaces/x/pods`. Paths of the Namespace object itself and of its
 * subresources, such as `namespaces/x/status`, are not inside it.
 */
function isInNamespace(parts: readonly string[]): boolean {
  return parts[0] === 'namespaces' && parts.length > 2 && !namespaceSubresources.has(parts[2] ?? '');
}

/**
 * Splits a path into group, version and the segments after them; undefined when the path is not below /api or /apis.
 */
function splitApi(
  path: string,
): { readonly group: string; readonly version: string; readonly parts: readonly string[] } | undefined {
  const [prefix, ...parts] = path.replace(/^\/+|\/+$/g, '').split('/');
  if (prefix === 'api' && parts.length >= 2) return { group: '', version: parts[0] ?? '', parts: parts.slice(1) };
  if (prefix === 'apis' && parts.length >= 3)
    return { group: parts[0] ?? '', version: parts[1] ?? '', parts: parts.slice(2) };
  return undefined;
}

/** Parses a boolean query parameter as Go does: true when it is present and neither `false` nor `0`. */
export function isTrue(value: string | null): boolean {
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}

function exactName(selector: string | null): string {
  const match = /(?:^|,)metadata\.name==?([^,]+)(?:$|,)/.exec(selector ?? '');
  const name = match?.[1] ?? '';
  return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}
