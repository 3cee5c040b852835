// The API groups of the index as data: their discovery documents and their paths. Below `resources` and
// `indexes/default/proxy`, the rest of the path is a whole Kubernetes path such as `/api/v1/pods`. RBAC sees only
// `resources`, or `indexes/proxy` with the name `default`.
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
export const indexQuestions = ['facets', 'values', 'counts', 'freshness', 'query'] as const;
export type IndexQuestion = (typeof indexQuestions)[number];

/** Which endpoint of the index a path leads to. */
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
  | {
      readonly kind: 'index';
      readonly part: 'documents';
      readonly document: 'group' | 'version';
      readonly group: IndexGroup;
    };

/** Which endpoint of the index a path leads to; undefined when the path is not one of the index. */
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
  if (surface.part !== 'resources' && surface.part !== 'proxy') return verb;
  const { segments } = surface;
  const own = segments[0] === 'clusters' ? segments.slice(2) : segments;
  const legacyWatch = own[own[0] === 'api' ? 2 : 3] === 'watch';
  return verb === 'get' && (legacyWatch || queryFlag(query, 'watch')) ? 'watch' : verb;
}

interface IndexResource {
  readonly name: string;
  readonly kind: string;
  readonly singularName: string;
  readonly verbs: readonly string[];
}

const resources: Readonly<Record<IndexGroup, readonly IndexResource[]>> = {
  [clusterpediaGroup]: [
    {
      name: 'collectionresources',
      singularName: 'collectionresource',
      kind: 'CollectionResource',
      verbs: ['get', 'list'],
    },
    { name: 'resources', singularName: 'resources', kind: 'Resources', verbs: ['get'] },
  ],
  [searchGroup]: [
    { name: 'indexes', singularName: 'index', kind: 'Index', verbs: ['get', 'list'] },
    ...['counts', 'facets', 'freshness', 'proxy', 'query', 'values'].map((name) => ({
      name: `indexes/${name}`,
      singularName: '',
      kind: 'Index',
      verbs: name === 'query' ? ['create'] : ['get'],
    })),
  ],
};

const groupNames: readonly IndexGroup[] = [clusterpediaGroup, searchGroup];

function groupEntry(name: IndexGroup): object {
  const version = { groupVersion: `${name}/${versions[name]}`, version: versions[name] };
  return { name, versions: [version], preferredVersion: version };
}

/** The groups of the index as elements of an APIGroupList (`/apis`). */
export const indexGroupEntries: readonly object[] = groupNames.map(groupEntry);

/** Discovery of one group of the index: `group` is its APIGroup, `version` the APIResourceList of its only version. */
export function indexGroupDocument(group: IndexGroup, document: 'group' | 'version'): object {
  if (document === 'group') return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) };
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/${versions[group]}`,
    resources: resources[group].map((each) => ({ ...each, namespaced: false })),
  };
}

/** The groups of the index as elements of an APIGroupDiscoveryList (KEP-3352). */
export const aggregatedIndexGroups: readonly object[] = groupNames.map((name) => {
  const responseKind = (kind: string): object => ({ group: name, version: versions[name], kind });
  const whole = resources[name].filter((each) => !each.name.includes('/'));
  return {
    metadata: { name },
    versions: [
      {
        version: versions[name],
        freshness: 'Current',
        resources: whole.map((each) => ({
          resource: each.name,
          responseKind: responseKind(each.kind),
          scope: 'Cluster',
          singularResource: each.singularName,
          verbs: each.verbs,
          subresources: resources[name]
            .filter((sub) => sub.name.startsWith(`${each.name}/`))
            .map((sub) => ({
              subresource: sub.name.split('/')[1],
              responseKind: responseKind(sub.kind),
              verbs: sub.verbs,
            })),
        })),
      },
    ],
  };
});
