// The API groups of the index as data: their discovery documents and their paths. Behind `resources`,
// `indexes/default/proxy` and Karmada's `search/cache` and `proxying/<name>/proxy`, the rest of the path is the path of
// a Kubernetes API, such as `/api/v1/pods`. RBAC rules for the first two name only `resources`, or `indexes/proxy` with
// the name `default`.
import { GatewayError } from '../model/errors.ts';
import type { ShownGroup } from './discovery.ts';
import { queryFlag } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import type { ParsedTarget } from './path.ts';

/** The API group of the project Clusterpedia, served for its clients (clusterpedia-io/api clusterpedia/v1beta1). */
export const clusterpediaGroup = 'clusterpedia.io';
/**
 * Portcullis's own API group for the index: the same rows below native Kubernetes paths, and subresources such as
 * `facets` that Clusterpedia's API does not have.
 */
export const searchGroup = 'search.portcullis.io';
/** The API group of Karmada's search, served for its clients (karmada-io/karmada pkg/apis/search/v1alpha1). */
export const karmadaSearchGroup = 'search.karmada.io';

/** The API groups of the index. */
export type IndexGroup = typeof clusterpediaGroup | typeof searchGroup | typeof karmadaSearchGroup;

const versions: Readonly<Record<IndexGroup, string>> = {
  [clusterpediaGroup]: 'v1beta1',
  [searchGroup]: 'v1alpha1',
  [karmadaSearchGroup]: 'v1alpha1',
};

/** Subresources of the only index object, `indexes/default`, except `proxy`. */
export const indexQuestions = [
  'facets',
  'values',
  'counts',
  'freshness',
  'query',
  'status',
  'move',
  'rebuild',
  'whocan',
  'whatcan',
] as const;
export type IndexQuestion = (typeof indexQuestions)[number];

/** The endpoint of the index to which a path leads. */
export type IndexSurface =
  | {
      readonly kind: 'index';
      readonly part: 'resources' | 'proxy' | 'cache';
      readonly prefix: string;
      /** The decoded segments of the path that follow `prefix`. */
      readonly segments: readonly string[];
    }
  | ProxyingSurface
  | { readonly kind: 'index'; readonly part: 'collections'; readonly name: string | undefined }
  | { readonly kind: 'index'; readonly part: IndexQuestion }
  | { readonly kind: 'index'; readonly part: 'indexes'; readonly name: string | undefined }
  /** The endpoint `/metrics/fleet`, with numbers about all clusters. */
  | { readonly kind: 'index'; readonly part: 'fleet' }
  | {
      readonly kind: 'index';
      readonly part: 'documents';
      readonly document: 'group' | 'version';
      readonly group: IndexGroup;
    };

/** A request to the index whose URL ends in the path of a Kubernetes API, such as `/api/v1/pods`. */
export type InnerSurface = Extract<IndexSurface, { readonly segments: readonly string[] }>;

/**
 * Karmada's path `proxying/<name>/proxy/…`. It is answered from the index, except for writes and subresources, which go
 * to the cluster that has the object.
 */
export interface ProxyingSurface {
  readonly kind: 'index';
  readonly part: 'proxying';
  /** The part of the URL before the Kubernetes path. */
  readonly prefix: string;
  /** The decoded segments of `path`. */
  readonly segments: readonly string[];
  /** The Kubernetes path with a leading slash, byte for byte as received, for example `/api/v1/pods`. */
  readonly path: string;
}

/**
 * The endpoint of the index to which a path leads; undefined when the path is not one of the index.
 * @throws GatewayError NOT_FOUND, with the reason, for a path of Karmada's search that the index does not serve;
 * BAD_PATH for a path with percent escapes up to `/proxy`, which no client sends
 */
export function indexSurface(target: ParsedTarget): IndexSurface | undefined {
  const { segments } = target;
  const [, group, version, plural, name] = segments;
  if (group !== clusterpediaGroup && group !== searchGroup && group !== karmadaSearchGroup) return undefined;
  if (version === undefined) return { kind: 'index', part: 'documents', document: 'group', group };
  if (version !== versions[group]) return undefined;
  if (plural === undefined) return { kind: 'index', part: 'documents', document: 'version', group };
  if (group === karmadaSearchGroup) return karmadaSurface(target);
  if (group === searchGroup) return plural === 'indexes' ? indexesSurface(target) : undefined;
  if (plural === 'resources') return surfaceBelow(target, 4, 'resources');
  const isCollection = plural === 'collectionresources' && segments.length <= 5;
  return isCollection ? { kind: 'index', part: 'collections', name } : undefined;
}

/** Splits a URL path after its first `count` segments. The rest is the Kubernetes path, such as `/api/v1/pods`. */
function surfaceBelow(
  { path, segments, starts }: ParsedTarget,
  count: number,
  part: 'resources' | 'proxy' | 'cache',
): IndexSurface {
  const prefix = path.slice(0, starts[count] ?? path.length).replace(/\/$/, '');
  return { kind: 'index', part, prefix, segments: segments.slice(count) };
}

function indexesSurface(target: ParsedTarget): IndexSurface | undefined {
  const [, , , , name, question] = target.segments;
  if (question === undefined) return { kind: 'index', part: 'indexes', name };
  if (name !== 'default') return undefined;
  if (question === 'proxy') return surfaceBelow(target, 6, 'proxy');
  const found = indexQuestions.find((each) => each === question);
  return found === undefined || target.segments.length > 6 ? undefined : { kind: 'index', part: found };
}

function karmadaSurface(target: ParsedTarget): IndexSurface | undefined {
  const [, , , plural, name, question] = target.segments;
  if (plural === 'search' && name === 'cache') return surfaceBelow(target, 5, 'cache');
  if (plural === 'search' && name === 'opensearch') throw noOpenSearch();
  return plural === 'proxying' && question === 'proxy' ? proxyingSurface(target) : undefined;
}

function proxyingSurface({ path, segments, starts }: ParsedTarget): ProxyingSurface {
  const prefix = path.slice(0, starts[5]! + '/proxy'.length);
  // If the prefix had percent escapes, it would be longer than the decoded prefix, and the Kubernetes path after it
  // would be cut out at the wrong position.
  if (prefix.includes('%') || !prefix.endsWith('/proxy'))
    throw new GatewayError('BAD_PATH', 'the path up to "/proxy" must not hold percent escapes');
  const inner = path.slice(prefix.length);
  return { kind: 'index', part: 'proxying', prefix, segments: segments.slice(6), path: inner === '' ? '/' : inner };
}

function noOpenSearch(): GatewayError {
  return new GatewayError('NOT_FOUND', 'there is no OpenSearch behind this gateway: ask …/search/cache instead');
}

/**
 * The verb of a request to the index. A watch has the verb `watch`, also where RBAC calls the path a `proxy`
 * subresource, so that it counts as a stream and has no deadline. Every other request is a short one, although
 * kube-apiserver treats `proxy` subresources as long-running.
 */
export function indexVerb(surface: IndexSurface, { verb }: RequestInfo, query: string): string {
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  if (surface.part === 'collections') return isRead && queryFlag(query, 'watch') ? 'watch' : verb;
  if (!('segments' in surface)) return verb;
  const { segments } = surface;
  const own = segments[0] === 'clusters' ? segments.slice(2) : segments;
  const legacyWatch = own[own[0] === 'api' ? 2 : 3] === 'watch';
  return verb === 'get' && (legacyWatch || queryFlag(query, 'watch')) ? 'watch' : verb;
}

/** The verbs that kube-apiserver lists in discovery for a path that takes every HTTP method. */
const connectVerbs = ['create', 'delete', 'get', 'patch', 'update'];

/**
 * The groups of the index as discovery shows them.
 * @param hasRegistries whether the gateway serves Karmada's ResourceRegistries
 */
export function indexGroups(hasRegistries: boolean): readonly ShownGroup[] {
  return [
    {
      name: clusterpediaGroup,
      version: versions[clusterpediaGroup],
      resources: [
        {
          plural: 'collectionresources',
          singular: 'collectionresource',
          kind: 'CollectionResource',
          verbs: ['get', 'list'],
        },
        { plural: 'resources', singular: 'resources', kind: 'Resources', verbs: ['get'] },
      ],
    },
    {
      name: searchGroup,
      version: versions[searchGroup],
      resources: [
        {
          plural: 'indexes',
          singular: 'index',
          kind: 'Index',
          verbs: ['get', 'list'],
          subresources: [...indexQuestions, 'proxy'].toSorted().map((name) => ({
            name,
            kind: 'Index',
            verbs: ['query', 'move', 'rebuild'].includes(name) ? ['create'] : ['get'],
          })),
        },
      ],
    },
    {
      name: karmadaSearchGroup,
      version: versions[karmadaSearchGroup],
      resources: [
        { plural: 'proxying', singular: 'proxying', kind: 'Proxying', verbs: connectVerbs },
        ...(hasRegistries ? [registries] : []),
        { plural: 'search', singular: 'search', kind: 'Search', verbs: ['get'] },
      ],
    },
  ];
}

const registries: ShownGroup['resources'][number] = {
  plural: 'resourceregistries',
  singular: 'resourceregistry',
  kind: 'ResourceRegistry',
  verbs: [...connectVerbs, 'deletecollection', 'list', 'watch'].toSorted(),
  subresources: [{ name: 'status', kind: 'ResourceRegistry', verbs: ['get', 'patch', 'update'] }],
};
