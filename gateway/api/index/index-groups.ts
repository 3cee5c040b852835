// The API groups of the index as data: their discovery and their paths. Below `resources` and `indexes/default/proxy`
// stand whole Kubernetes paths, which are not objects of these groups; to RBAC they are a name and a subresource.
import { queryFlag } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { ParsedTarget } from '../../request/path.ts';

/** Clusterpedia's group, for its clients (clusterpedia-io/api clusterpedia/v1beta1). */
export const clusterpediaGroup = 'clusterpedia.io';
/** Our own group: the same index with native paths, and questions Clusterpedia does not have. */
export const searchGroup = 'search.portcullis.io';

/** A group of the index. */
export type IndexGroup = typeof clusterpediaGroup | typeof searchGroup;

const versions: Readonly<Record<IndexGroup, string>> = { [clusterpediaGroup]: 'v1beta1', [searchGroup]: 'v1alpha1' };

/** Subresources of `indexes/default` besides its proxy path. */
export const indexQuestions = ['facets', 'values', 'counts', 'freshness', 'query'] as const;
export type IndexQuestion = (typeof indexQuestions)[number];

/** Which part of the index a path asks. */
export type IndexSurface =
  | {
      readonly kind: 'index';
      readonly part: 'resources' | 'proxy';
      readonly prefix: string;
      /** Decoded segments behind the prefix. */
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

/** The part of the index that a path below `/apis` asks; undefined when it asks none. */
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
 * The verb of a request to the index. A `watch` counts as a stream and has no deadline, whatever RBAC calls the path.
 * All else is short, though kube-apiserver treats a `proxy` subresource as long-running.
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

/** Elements of an APIGroupList. */
export const indexGroupEntries: readonly object[] = groupNames.map(groupEntry);

/** APIGroup, or APIResourceList of its one version. */
export function indexGroupDocument(group: IndexGroup, document: 'group' | 'version'): object {
  if (document === 'group') return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) };
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/${versions[group]}`,
    resources: resources[group].map((each) => ({ ...each, namespaced: false })),
  };
}

/** Elements of an APIGroupDiscoveryList (KEP-3352). */
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
