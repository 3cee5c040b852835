// Parses the part of a path after `resources` or `indexes/default/proxy`: a Kubernetes path, with or without
// `clusters/<name>` in front. The paths `clusters` and `clusters/<name>` themselves are 404, as in Clusterpedia.
import { isLabel } from '../../lib/objects/api-names.ts';
import { GatewayError } from '../../model/errors.ts';

/** The most types that one request may name. Rights are checked for each type in each cluster, so this is limited. */
export const mostTypes = 256;

/** A path that names objects of one type: all of them, those of a namespace, or one object by name. */
export interface AskedObjects {
  readonly kind: 'objects';
  readonly cluster: string | undefined;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** The namespace in the path. Undefined for all namespaces, and for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** The object's name; undefined for a list or watch. */
  readonly name: string | undefined;
  /** True for the old form of a watch, which has `/watch/` in the path. */
  readonly legacyWatch: boolean;
}

/** A path that names a discovery or OpenAPI document, or the health or version. */
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
  /**
   * The API group of the document. Undefined unless the document is `group`, `resources` or a single OpenAPI document.
   */
  readonly group: string | undefined;
  /** The API version of the document. Undefined unless the document is `resources` or a single OpenAPI document. */
  readonly version: string | undefined;
}

/**
 * Parses a path.
 * @throws GatewayError NOT_FOUND when no Kubernetes API has such a path or such a resource, METHOD_NOT_ALLOWED for a
 *   subresource, which the index does not have
 */
export function innerPath(segments: readonly string[]): AskedObjects | AskedDocument {
  if (segments[0] !== 'clusters') return pathOf(undefined, segments);
  if (segments.length < 3) throw notFound();
  return pathOf(segments[1], segments.slice(2));
}

function pathOf(cluster: string | undefined, path: readonly string[]): AskedObjects | AskedDocument {
  const [first, second, third] = path;
  switch (first) {
    case undefined:
      return documentOf(cluster, 'root');
    case 'api':
      if (second === undefined) return documentOf(cluster, 'api');
      if (second !== 'v1') throw notFound();
      if (third === undefined) return documentOf(cluster, 'resources', '', 'v1');
      return objects(cluster, '', 'v1', path.slice(2));
    case 'apis':
      if (second === undefined) return documentOf(cluster, 'apis');
      if (third === undefined) return documentOf(cluster, 'group', second);
      if (path.length === 3) return documentOf(cluster, 'resources', second, third);
      return objects(cluster, second, third, path.slice(3));
    case 'openapi':
      return openapiOf(cluster, path);
    default:
      return aboutOf(cluster, path);
  }
}

function openapiOf(cluster: string | undefined, path: readonly string[]): AskedDocument {
  const [, version, kind, ...names] = path;
  if (path.length === 2 && version === 'v2') return documentOf(cluster, 'openapi-v2');
  if (path.length === 2 && version === 'v3') return documentOf(cluster, 'openapi-v3');
  if (version === 'v3' && kind === 'api' && names.length === 1) return documentOf(cluster, 'openapi-v3', '', names[0]);
  if (version === 'v3' && kind === 'apis' && names.length === 2)
    return documentOf(cluster, 'openapi-v3', names[0], names[1]);
  throw notFound();
}

function aboutOf(cluster: string | undefined, [name, ...behind]: readonly string[]): AskedDocument {
  if (behind.length > 0) throw notFound();
  if (name === 'version') return documentOf(cluster, 'version');
  if (name === 'healthz' || name === 'livez' || name === 'readyz') return documentOf(cluster, 'health');
  throw notFound();
}

function documentOf(
  cluster: string | undefined,
  document: AskedDocument['document'],
  group?: string,
  version?: string,
): AskedDocument {
  return { kind: 'document', cluster, document, group, version };
}

function objects(cluster: string | undefined, group: string, version: string, path: readonly string[]): AskedObjects {
  const legacyWatch = path[0] === 'watch' && path.length > 1;
  const rest = legacyWatch ? path.slice(1) : path;
  const asked = { kind: 'objects', cluster, group, version, legacyWatch } as const;
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name, ...behind] = isNamespaced ? rest.slice(2) : rest;
  if (!isLabel(resource)) throw notFound();
  if (behind.length > 0 || (isNamespaced && (resource === 'status' || resource === 'finalize') && group === '')) {
    const place = cluster === undefined ? '/clusters/<cluster>/proxy' : `/clusters/${cluster}/proxy`;
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `the index has copies of objects, without their subresources; ask the cluster itself below ${place}`,
    );
  }
  return { ...asked, resource, name, namespace: isNamespaced ? rest[1] : undefined };
}

export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}
