// Reads requests for objects by a Kubernetes path: list, watch, get by name, and Clusterpedia's forward to the cluster
// itself.
import { GatewayError } from '../../model/errors.ts';
import { headerValue } from '../../routing/forward/headers.ts';
import { isContinueToken } from '../../query/continue.ts';
import { onlyParameters, urlParameters, type Parameters } from '../../query/parameters.ts';
import { readQuery } from '../../query/read/read-query.ts';
import { takeForwardLabel } from '../../query/selectors/forward-label.ts';
import type { AskedObjects } from '../request/inner-path.ts';
import type { ForwardQuestion, ObjectsQuestion } from '../api/question.ts';
import { isKarmadas, type IndexRequest } from '../request/request.ts';

/** The URL parameters that a get by name uses. Selectors and pages only apply to lists, as in kube-apiserver. */
const ofOneObject = ['clusters', 'fields', 'onlyMetadata', 'includeObject'];

/**
 * Reads a list, watch or get request, or one to be forwarded to the cluster.
 * @throws GatewayError BAD_REQUEST for invalid parameters
 */
export function readObjects(
  request: IndexRequest,
  path: AskedObjects,
  allowsWhereSql: boolean,
): ObjectsQuestion | ForwardQuestion {
  const parameters = urlParameters(request.query.slice(1));
  const { group, resource, cluster, namespace, name } = path;
  const isWatch = path.legacyWatch || (parameters.flag('watch') ?? false);
  if (isKarmadas(request)) refuseForeignToken(parameters);
  // Karmada's `search/cache` answers a name with the list of the objects that have it, one of each cluster.
  const listsName = request.asked.part === 'cache';
  const kind = isWatch ? 'watch' : name === undefined || listsName ? 'list' : 'get';
  const asked = readQuery(
    kind === 'get' ? onlyParameters(parameters, ofOneObject) : parameters,
    {
      types: [{ group, resource }],
      ...(cluster === undefined ? {} : { cluster }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
    },
    allowsWhereSql,
  );
  if (isForwarded(request, parameters)) return forwarded(request, path);
  return { kind, path: listsName ? { ...path, name: undefined } : path, parameters, asked };
}

/** Whether the request has Clusterpedia's label or header, which send it to the cluster itself. */
export function isForwarded(request: IndexRequest, parameters: Parameters): boolean {
  const { forward } = takeForwardLabel(parameters.text('labelSelector') ?? '');
  return forward || headerValue(request.headers, 'x-clusterpedia-forward') === 'true';
}

/**
 * Refuses a continue token that another program behind the same path has issued, such as Karmada's own search.
 * @throws GatewayError EXPIRED, so that clients begin the list anew
 */
function refuseForeignToken(parameters: Parameters): void {
  const token = parameters.text('continue');
  if (token === undefined || isContinueToken(token) || /^\+?\d{1,15}$/.test(token)) return;
  throw new GatewayError('EXPIRED', 'the continue token was not issued by this index; start again without it');
}

/**
 * A request with Clusterpedia's forward label or header (v0.9, pkg/kubeapiserver/resource_handler.go). The label is
 * removed from the selector before the cluster sees it.
 */
function forwarded(request: IndexRequest, path: AskedObjects): ForwardQuestion {
  if (path.cluster === undefined)
    throw new GatewayError('BAD_REQUEST', 'only a path with a cluster can be forwarded: …/clusters/<name>/…');
  const query = new URLSearchParams(request.query.slice(1));
  const { selector } = takeForwardLabel(query.get('labelSelector') ?? '');
  if (selector === '') query.delete('labelSelector');
  else query.set('labelSelector', selector);
  const text = query.toString();
  return { kind: 'forward', cluster: path.cluster, path: memberPath(path), query: text === '' ? '' : `?${text}` };
}

/** The path of the same objects on the member cluster. */
export function memberPath({ group, version, namespace, resource, name, legacyWatch }: AskedObjects): string {
  const segments = [
    ...(group === '' ? ['api', version] : ['apis', group, version]),
    ...(legacyWatch ? ['watch'] : []),
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    resource,
    ...(name === undefined ? [] : [name]),
  ];
  return `/${segments.map(encodeURIComponent).join('/')}`;
}
