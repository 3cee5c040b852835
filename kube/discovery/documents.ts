// Reads the documents in which an API server says what it serves: aggregated discovery (KEP-3352), which describes all
// groups in two answers, and the older documents of groups and of one group's version. Their names become parts of
// request paths, so what cannot be a name in Kubernetes is left out.
import { isGroup, isKind, isLabel } from '../../lib/objects/api-names.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';

/** A kind in one version, and the resource that its objects are. */
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

/** Whether a resource is one of another, such as `pods/log`. */
export function isSubresource({ resource }: Pick<ServedResource, 'resource'>): boolean {
  return resource.includes('/');
}

/** Groups of aggregated discovery whose own server is down: what is said of them is old or missing. */
export function staleGroups(document: JsonObject): readonly string[] {
  return objectsIn(document['items'])
    .filter((item) => objectsIn(item['versions']).some(({ freshness }) => freshness === 'Stale'))
    .map(groupNameOf);
}

/**
 * The resources in aggregated discovery, in the server's order: each followed by its subresources, and those of a
 * group's preferred version first.
 */
export function aggregatedResources(document: JsonObject): readonly ServedResource[] {
  const resources = objectsIn(document['items']).flatMap((item) =>
    objectsIn(item['versions']).flatMap(({ version, resources: listed }) =>
      objectsIn(listed).flatMap((each) => {
        const of = { group: groupNameOf(item), version: textOf(version), namespaced: each['scope'] === 'Namespaced' };
        const resource = textOf(each['resource']);
        return [
          { ...of, ...wordsOf(each), resource, kind: kindIn(each), singular: textOf(each['singularResource']) },
          ...objectsIn(each['subresources']).map((sub) => {
            const name = `${resource}/${textOf(sub['subresource'])}`;
            return { ...of, ...wordsOf(sub), resource: name, kind: kindIn(sub), singular: '' };
          }),
        ];
      }),
    ),
  );
  return resources.filter(isUsable);
}

/** The resources and subresources in a metav1.APIResourceList of this group and version. */
export function listedResources(document: JsonObject, group: string, version: string): readonly ServedResource[] {
  const resources = objectsIn(document['resources']).map((each) => {
    const names = {
      resource: textOf(each['name']),
      kind: textOf(each['kind']),
      singular: textOf(each['singularName']),
    };
    return { group, version, ...names, namespaced: each['namespaced'] === true, ...wordsOf(each) };
  });
  return resources.filter(isUsable);
}

/** The groups in a metav1.APIVersions (the core group), an APIGroupList or one APIGroup. */
export function groupsIn(document: JsonObject): readonly ServedGroup[] {
  if (document['kind'] === 'APIVersions') {
    return [{ group: '', versions: textsIn(document['versions']).filter(isLabel) }];
  }
  const groups = document['kind'] === 'APIGroup' ? [document] : objectsIn(document['groups']);
  return groups.map(({ name, preferredVersion, versions }) => {
    const preferred = isJsonObject(preferredVersion) ? [preferredVersion] : [];
    const all = [...preferred, ...objectsIn(versions)].map(({ version }) => textOf(version));
    return { group: textOf(name), versions: [...new Set(all)].filter(isLabel) };
  });
}

function wordsOf({
  verbs,
  shortNames,
  categories,
}: JsonObject): Pick<ServedResource, 'verbs' | 'shortNames' | 'categories'> {
  return { verbs: textsIn(verbs), shortNames: textsIn(shortNames), categories: textsIn(categories) };
}

function groupNameOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? textOf(metadata['name']) : '';
}

function kindIn({ responseKind }: JsonObject): string {
  return isJsonObject(responseKind) ? textOf(responseKind['kind']) : '';
}

function isUsable({ group, version, resource, kind }: ServedResource): boolean {
  // Some subresources have no kind of their own.
  return isGroup(group) && isLabel(version) && resource.split('/').every(isLabel) && (kind === '' || isKind(kind));
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
