// What a path behind `resources` or `indexes/default/proxy` asks for: paths of Kubernetes, with or without
// `clusters/<name>` before them. Easy to get wrong: Clusterpedia's border cases (`clusters`, `clusters/<name>` alone
// are 404, everything else keeps its trailing slash harmlessly).
import { GatewayError } from '../../cache/model/errors.ts';

/** Types that one question may name: the authorizer is asked about each of them in each cluster. */
export const mostTypes = 256;

/** Objects of a type. */
export interface AskedObjects {
  readonly kind: 'objects';
  readonly cluster: string | undefined;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Undefined: of all namespaces, or cluster-scoped. */
  readonly namespace: string | undefined;
  /** Undefined: a list or watch. */
  readonly name: string | undefined;
  /** The old spelling `/watch/` in the path. */
  readonly legacyWatch: boolean;
}

/** A document. */
export interface AskedDocument {
  readonly kind: 'document';
  readonly cluster: string | undefined;
  readonly document:
    | 'root'
    | 'api'
    | 'apis'
    | 'group'
    | 'resources'
    | 'version'
    | 'health'
    | 'openapi-v2'
    | 'openapi-v3';
  /** Of `group`, `resources` and one document of `openapi-v3`. */
  readonly group: string | undefined;
  /** Of `resources` and one document of `openapi-v3`. */
  readonly version: string | undefined;
}

/**
 * @throws GatewayError NOT_FOUND for what no Kubernetes API has there, METHOD_NOT_ALLOWED for subresources, which only
 * a cluster itself has
 */
export function innerPath(segments: readonly string[]): AskedObjects | AskedDocument {
  let cluster: string | undefined;
  let rest = segments;
  if (segments[0] === 'clusters') {
    if (segments.length < 3) throw notFound();
    cluster = segments[1];
    rest = segments.slice(2);
  }
  const document = (name: AskedDocument['document'], group?: string, version?: string): AskedDocument => ({
    kind: 'document',
    cluster,
    document: name,
    group,
    version,
  });
  const [first, second, third] = rest;
  if (first === undefined) return document('root');
  switch (first) {
    case 'api':
      if (second === undefined) return document('api');
      if (second !== 'v1') throw notFound();
      if (third === undefined) return document('resources', '', 'v1');
      return objects(cluster, '', 'v1', rest.slice(2));
    case 'apis':
      if (second === undefined) return document('apis');
      if (third === undefined) return document('group', second);
      if (rest.length === 3) return document('resources', second, third);
      return objects(cluster, second, third, rest.slice(3));
    case 'openapi':
      if (rest.length === 2 && second === 'v2') return document('openapi-v2');
      if (second === 'v3' && rest.length === 2) return document('openapi-v3');
      if (second === 'v3' && third === 'api' && rest.length === 4) return document('openapi-v3', '', rest[3]);
      if (second === 'v3' && third === 'apis' && rest.length === 5) return document('openapi-v3', rest[3], rest[4]);
      throw notFound();
    case 'version':
      if (rest.length === 1) return document('version');
      throw notFound();
    case 'healthz':
    case 'livez':
    case 'readyz':
      if (rest.length === 1) return document('health');
      throw notFound();
    default:
      throw notFound();
  }
}

function objects(cluster: string | undefined, group: string, version: string, path: readonly string[]): AskedObjects {
  const legacyWatch = path[0] === 'watch' && path.length > 1;
  const rest = legacyWatch ? path.slice(1) : path;
  const asked = { kind: 'objects', cluster, group, version, legacyWatch } as const;
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name, ...behind] = isNamespaced ? rest.slice(2) : rest;
  if (behind.length > 0 || (isNamespaced && (resource === 'status' || resource === 'finalize') && group === '')) {
    const place = cluster === undefined ? '/clusters/<cluster>/proxy' : `/clusters/${cluster}/proxy`;
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `the index holds copies of objects and no subresources; ask the cluster itself below ${place}`,
    );
  }
  return { ...asked, resource, name, namespace: isNamespaced ? rest[1] : undefined };
}

export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}
