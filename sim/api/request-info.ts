// What a request asks for, read from method, path and query exactly as kube-apiserver's RequestInfoFactory does
// (apiserver/pkg/endpoints/request/requestinfo.go). `namespaces/x` is the namespace object itself, but
// `namespaces/x/pods` is a pod list.

/** The attributes of one request. */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /** Decoded path. */
  readonly path: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path segments from the resource on. */
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
const namespaceSubresources = new Set(['status', 'finalize']);

/** Reads the attributes; `path` is decoded and holds no query. */
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
  let parts = path.replace(/^\/+|\/+$/g, '').split('/');
  const prefix = parts[0];
  if (parts.length < 3 || (prefix !== 'api' && prefix !== 'apis')) return none;
  let group = '';
  if (prefix === 'apis') {
    if (parts.length < 4) return none;
    group = parts[1] ?? '';
    parts = parts.slice(1);
  }
  const version = parts[1] ?? '';
  parts = parts.slice(2);

  let verb = verbs[method] ?? '';
  const viaPath = parts[0] === 'watch' || parts[0] === 'proxy';
  if (viaPath) {
    verb = parts[0] ?? '';
    parts = parts.slice(1);
  }
  let namespace = '';
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1] ?? '';
    if (parts.length > 2 && !namespaceSubresources.has(parts[2] ?? '')) parts = parts.slice(2);
  }
  const resource = parts[0] ?? '';
  let name = parts[1] ?? '';
  const subresource = viaPath ? '' : (parts[2] ?? '');
  if (name === '' && verb === 'get') {
    verb = isTrue(query.get('watch')) ? 'watch' : 'list';
    name = exactName(query.get('fieldSelector'));
  }
  if (name === '' && verb === 'delete') verb = 'deletecollection';
  return { isResourceRequest: true, path, verb, group, version, namespace, resource, subresource, name, parts };
}

/** Go's boolean query values: present and neither `false` nor `0`. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

function exactName(selector: string | null): string {
  const match = /(?:^|,)metadata\.name==?([^,]+)(?:$|,)/.exec(selector ?? '');
  const name = match?.[1] ?? '';
  return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}
