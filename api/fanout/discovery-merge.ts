// Joins the discovery documents of several clusters into one that has every version and resource which at least one
// cluster has. Versions and resources of the first cluster come first, in that cluster's order, so the same clusters
// always give the same document.
import { isJsonObject, listAt, objectsAt, type JsonObject } from '../../lib/objects/json-object.ts';

/**
 * Which discovery document a path asks for: `/api`, `/apis`, one group, the resources of a version, or `/openapi/v3`.
 */
export type DiscoveryDocument = 'api' | 'apis' | 'group' | 'resources' | 'openapi-v3';

/**
 * Joins documents of one kind.
 * @param documents parsed JSON of the clusters, in the order of the clusters' names. Values that are not objects are
 * left out
 */
export function mergedDiscovery(document: DiscoveryDocument | 'aggregated', documents: readonly unknown[]): object {
  const all = documents.filter(isJsonObject);
  const first = all[0] ?? {};
  switch (document) {
    case 'api':
      return { ...first, versions: [...new Set(all.flatMap((each) => listAt(each, 'versions')))] };
    case 'apis':
      return { ...first, groups: byName(objectsOf(all, 'groups'), ({ name }) => name, mergedGroup) };
    case 'group':
      return mergedGroup(all);
    case 'resources':
      return { ...first, resources: byName(objectsOf(all, 'resources'), ({ name }) => name, firstOf) };
    case 'openapi-v3':
      return { ...first, paths: Object.assign({}, ...all.map(({ paths }) => paths).toReversed()) as object };
    case 'aggregated':
      return { ...first, items: byName(objectsOf(all, 'items'), nameInMetadata, mergedItem) };
  }
}

/** One metav1.APIGroup with the versions of all clusters. The preferred version is that of the first cluster. */
function mergedGroup(groups: readonly JsonObject[]): JsonObject {
  const versions = byName(objectsOf(groups, 'versions'), ({ groupVersion }) => groupVersion, firstOf);
  return { ...groups[0], versions };
}

/** One APIGroupDiscovery (apidiscovery.k8s.io) with the versions and resources of all clusters. */
function mergedItem(items: readonly JsonObject[]): JsonObject {
  const versions = byName(
    objectsOf(items, 'versions'),
    ({ version }) => version,
    (same) => ({
      ...same[0],
      resources: byName(objectsOf(same, 'resources'), ({ resource }) => resource, firstOf),
    }),
  );
  return { ...items[0], versions };
}

function nameInMetadata({ metadata }: JsonObject): unknown {
  // In aggregated discovery the core API group has no name; it is found here under ''.
  return (isJsonObject(metadata) ? metadata['name'] : undefined) ?? '';
}

function firstOf(same: readonly JsonObject[]): JsonObject {
  return same[0]!;
}

/** Merges objects of the same name into one. Names keep the order in which they first appear. */
function byName(
  all: readonly JsonObject[],
  nameOf: (each: JsonObject) => unknown,
  merge: (same: readonly JsonObject[]) => JsonObject,
): JsonObject[] {
  const named = new Map<unknown, JsonObject[]>();
  for (const each of all) {
    const name = nameOf(each);
    if (typeof name !== 'string') continue;
    const same = named.get(name);
    if (same === undefined) named.set(name, [each]);
    else same.push(each);
  }
  return [...named.values()].map(merge);
}

function objectsOf(documents: readonly JsonObject[], key: string): JsonObject[] {
  return documents.flatMap((each) => objectsAt(each, key));
}
