// Joins the discovery documents of several clusters into one, which has every version and resource that at least one
// cluster has. What the first cluster has comes first, in its order, so the same clusters always give the same
// document.

/**
 * Which discovery document a path asks for: `/api`, `/apis`, one group, the resources of a version, or `/openapi/v3`.
 */
export type DiscoveryDocument = 'api' | 'apis' | 'group' | 'resources' | 'openapi-v3';

type Json = Readonly<Record<string, unknown>>;

/**
 * Joins documents of one kind.
 * @param documents parsed JSON of the clusters, in the order of the clusters' names. A value that is no object is left
 * out
 */
export function mergedDiscovery(document: DiscoveryDocument | 'aggregated', documents: readonly unknown[]): object {
  const all = documents.filter(isObject);
  const first = all[0] ?? {};
  switch (document) {
    case 'api':
      return { ...first, versions: [...new Set(all.flatMap((each) => listOf(each['versions'])))] };
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
function mergedGroup(groups: readonly Json[]): Json {
  const versions = byName(objectsOf(groups, 'versions'), ({ groupVersion }) => groupVersion, firstOf);
  return { ...groups[0], versions };
}

/** One APIGroupDiscovery (apidiscovery.k8s.io) with the versions and resources of all clusters. */
function mergedItem(items: readonly Json[]): Json {
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

function nameInMetadata({ metadata }: Json): unknown {
  // In aggregated discovery the core API group has no name; '' is used for it.
  return (isObject(metadata) ? metadata['name'] : undefined) ?? '';
}

function firstOf(same: readonly Json[]): Json {
  return same[0]!;
}

/** Merges objects of the same name into one. Names keep the order in which they first appear. */
function byName(all: readonly Json[], nameOf: (each: Json) => unknown, merge: (same: readonly Json[]) => Json): Json[] {
  const named = new Map<unknown, Json[]>();
  for (const each of all) {
    const name = nameOf(each);
    if (typeof name !== 'string') continue;
    const same = named.get(name);
    if (same === undefined) named.set(name, [each]);
    else same.push(each);
  }
  return [...named.values()].map(merge);
}

function objectsOf(documents: readonly Json[], key: string): Json[] {
  return documents.flatMap((each) => listOf(each[key])).filter(isObject);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
