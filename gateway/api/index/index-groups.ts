// The API groups of the index as data: their discovery documents and their paths. Below `resources` and
// `indexes/default/proxy`, the rest of the path is a whole Kubernetes path such as `/api/v1/pods`. RBAC sees only
// `resources`, or `indexes/proxy` with the name `default`.
import { makeDiscovery } from '../discovery/discovery.ts';
import type { ShownGroup } from '../discovery/discovery.ts';
import { queryFlag } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { ParsedTarget } from '../../request/path.ts';

/** The API group of the project Clusterpedia, served for its clients (clusterpedia-io/api clusterpedia/v1beta1). */
export const clusterpediaGroup = 'clusterpedia.io';
/**
 * Portcullis's own API group for the index: the same rows below native Kubernetes paths, and questions that
 * Clusterpedia's API does not have.
 */
export const searchGroup = 'search.portcullis.io';

/** The API groups of the index. */
export type IndexGroup = typeof clusterpediaGroup | typeof searchGroup;

const versions: Readonly<Record<IndexGroup, string>> = { [clusterpediaGroup]: 'v1beta1', [searchGroup]: 'v1alpha1' };

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
] as const;
export type IndexQuestion = (typeof indexQuestions)[number];

/** The endpoint of the index to which a path leads. */
export type IndexSurface =
  | {
      readonly kind: 'index';
      readonly part: 'resources' | 'proxy';
      readonly prefix: string;
      /** The decoded segments of the path that follow `prefix`. */
      readonly segments: readonly string[];
    }
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

/** The endpoint of the index to which a path leads; undefined when the path is not one of the index. */
export function indexSurface({ path, segments, starts }: ParsedTarget): IndexSurface | undefined {
  const [, group, version, plural, name, question] = segments;
  if (group !== clusterpediaGroup && group !== searchGroup) return undefined;
  if (version === undefined) return { kind: 'index', part: 'documents', document: 'group', group };
  if (version !== versions[group]) return undefined;
  if (plural === undefined) return { kind: 'index', part: 'documents', document: 'version', group };
  const below = (count: number, part: 'resources' | 'proxy'): IndexSurface => ({
    kind: 'index',
    part,
    prefix: path.slice(0, starts[count] ?? path.length).replace(/\/$/, ''),
    segments: segments.slice(count),
  });
  if (group === clusterpediaGroup) {
    if (plural === 'resources') return below(4, 'resources');
    const isCollection = plural === 'collectionresources' && segments.length <= 5;
    return isCollection ? { kind: 'index', part: 'collections', name } : undefined;
  }
  if (plural !== 'indexes') return undefined;
  if (question === undefined) return { kind: 'index', part: 'indexes', name };
  if (name !== 'default') return undefined;
  if (question === 'proxy') return below(6, 'proxy');
  const found = indexQuestions.find((each) => each === question);
  return found === undefined || segments.length > 6 ? undefined : { kind: 'index', part: found };
}

/**
 * The verb of a request to the index: `watch` for a watch, whatever RBAC calls the path, so that it counts as a stream
 * and has no deadline. Every other request is short, although kube-apiserver treats `proxy` subresources as
 * long-running.
 */
export function indexVerb(surface: IndexSurface, { verb }: RequestInfo, query: string): string {
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  if (surface.part === 'collections') return isRead && queryFlag(query, 'watch') ? 'watch' : verb;
  if (surface.part !== 'resources' && surface.part !== 'proxy') return verb;
  const { segments } = surface;
  const own = segments[0] === 'clusters' ? segments.slice(2) : segments;
  const legacyWatch = own[own[0] === 'api' ? 2 : 3] === 'watch';
  return verb === 'get' && (legacyWatch || queryFlag(query, 'watch')) ? 'watch' : verb;
}

/** The groups of the index as discovery shows them. */
export const indexGroups: readonly ShownGroup[] = [
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
];

/** The discovery documents of the API groups of the index, without the gateway's other groups. */
export const indexDiscovery = makeDiscovery([], indexGroups);
