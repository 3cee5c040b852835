// Parses discovery documents of an API server: aggregated discovery (KEP-3352), which describes all groups in two
// answers, and the older APIGroupList and APIResourceList. The names in them become parts of request paths, so entries
// with invalid names are left out.
import { isJsonObject, objectsAt, textAt, textsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { isGroup, isKind, isLabel } from '../../lib/objects/api-names.ts';

/** A kind in one version of its group, with the plural name of its resource. */
export interface ServedKind {
  /** API group; '' is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural name as in paths, with a subresource behind a slash: `pods` or `pods/log`. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** A resource or subresource as discovery describes it. */
export interface ServedResource extends ServedKind {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** An API group and its versions, the preferred one first. */
export interface ServedGroup {
  readonly group: string;
  readonly versions: readonly string[];
}

/** Header `Accept` that asks for aggregated discovery, which Kubernetes has since 1.26. */
export const acceptAggregated = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/** Whether a document is aggregated discovery. Older servers answer with a document of groups instead. */
export function isAggregated(document: unknown): document is JsonObject {
  return isJsonObject(document) && document['kind'] === 'APIGroupDiscoveryList';
}

/** Whether it is a subresource, such as `pods/log`. */
export function isSubresource({ resource }: Pick<ServedResource, 'resource'>): boolean {
  return resource.includes('/');
}

/**
 * Groups that aggregated discovery marks as stale, because their extension API server does not answer: their resources
 * are outdated or missing in the document.
 */
export function staleGroups(document: JsonObject): readonly string[] {
  return objectsAt(document, 'items')
    .filter((item) => objectsAt(item, 'versions').some(({ freshness }) => freshness === 'Stale'))
    .map((item) => textAt(item, 'metadata', 'name'));
}

/**
 * The resources in aggregated discovery, in the server's order: each followed by its subresources, and those of a
 * group's preferred version first.
 */
export function aggregatedResources(document: JsonObject): readonly ServedResource[] {
  const resources = objectsAt(document, 'items').flatMap((item) =>
    objectsAt(item, 'versions').flatMap(({ version, resources: listed }) =>
      objectsAt(listed).flatMap((each) => {
        const of = {
          group: textAt(item, 'metadata', 'name'),
          version: textAt(version),
          namespaced: each['scope'] === 'Namespaced',
        };
        const resource = textAt(each, 'resource');
        return [
          {
            ...of,
            ...wordsOf(each),
            resource,
            kind: textAt(each, 'responseKind', 'kind'),
            singular: textAt(each, 'singularResource'),
          },
          ...objectsAt(each, 'subresources').map((sub) => {
            const name = `${resource}/${textAt(sub, 'subresource')}`;
            return { ...of, ...wordsOf(sub), resource: name, kind: textAt(sub, 'responseKind', 'kind'), singular: '' };
          }),
        ];
      }),
    ),
  );
  return resources.filter(isUsable);
}

/** The resources and subresources in a metav1.APIResourceList of this group and version. */
export function listedResources(document: JsonObject, group: string, version: string): readonly ServedResource[] {
  const resources = objectsAt(document, 'resources').map((each) => {
    const names = {
      resource: textAt(each, 'name'),
      kind: textAt(each, 'kind'),
      singular: textAt(each, 'singularName'),
    };
    return { group, version, ...names, namespaced: each['namespaced'] === true, ...wordsOf(each) };
  });
  return resources.filter(isUsable);
}

/** The groups in a metav1.APIVersions (the core group), an APIGroupList or one APIGroup. */
export function groupsIn(document: JsonObject): readonly ServedGroup[] {
  if (document['kind'] === 'APIVersions') {
    return [{ group: '', versions: textsAt(document, 'versions').filter(isLabel) }];
  }
  const groups = document['kind'] === 'APIGroup' ? [document] : objectsAt(document, 'groups');
  return groups.map(({ name, preferredVersion, versions }) => {
    const all = [preferredVersion, ...objectsAt(versions)].map((each) => textAt(each, 'version'));
    return { group: textAt(name), versions: [...new Set(all)].filter(isLabel) };
  });
}

function wordsOf({
  verbs,
  shortNames,
  categories,
}: JsonObject): Pick<ServedResource, 'verbs' | 'shortNames' | 'categories'> {
  return { verbs: textsAt(verbs), shortNames: textsAt(shortNames), categories: textsAt(categories) };
}

function isUsable({ group, version, resource, kind }: ServedResource): boolean {
  // Some subresources have no kind of their own.
  return isGroup(group) && isLabel(version) && resource.split('/').every(isLabel) && (kind === '' || isKind(kind));
}
