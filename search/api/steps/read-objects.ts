// Reads a path of objects: list, watch, get of one by name, or Clusterpedia's wish that the cluster itself is asked.
import { GatewayError } from '../../../cache/model/errors.ts';
import { headerValue } from '../../../routing/forward/headers.ts';
import { onlyParameters, urlParameters } from '../../query/parameters.ts';
import { readQuery } from '../../query/read-query.ts';
import { takeForwardLabel } from '../../query/selectors/forward-label.ts';
import type { AskedObjects } from '../inner-path.ts';
import type { ForwardQuestion, ObjectsQuestion } from '../question.ts';
import type { IndexRequest } from '../request.ts';

/** What is read of the parameters of a get by name. Selectors and pages are for lists, as in kube-apiserver. */
const ofOneObject = ['clusters', 'fields', 'onlyMetadata'];

/** @throws GatewayError BAD_REQUEST for parameters that cannot be read */
export function readObjects(request: IndexRequest, path: AskedObjects): ObjectsQuestion | ForwardQuestion {
  const parameters = urlParameters(request.query.slice(1));
  const { group, resource, cluster, namespace, name } = path;
  const isWatch = path.legacyWatch || (parameters.flag('watch') ?? false);
  const kind = isWatch ? 'watch' : name === undefined ? 'list' : 'get';
  const asked = readQuery(kind === 'get' ? onlyParameters(parameters, ofOneObject) : parameters, {
    types: [{ group, resource }],
    ...(cluster === undefined ? {} : { cluster }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  });
  const { forward } = takeForwardLabel(parameters.text('labelSelector') ?? '');
  if (forward || headerValue(request.headers, 'x-clusterpedia-forward') === 'true') return forwarded(request, path);
  return { kind, path, parameters, asked };
}

/**
 * Clusterpedia's label and header (v0.9, pkg/kubeapiserver/resource_handler.go). The cluster does not see the label.
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

/** The path as the cluster itself knows it. */
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
