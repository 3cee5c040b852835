// Joins the discovery documents of several clusters. The result has every version and resource that some cluster has.
// The first cluster's order comes first, so the same clusters always give the same document.

/** Which document of the API's root paths. */
export type DiscoveryDocument = 'api' | 'apis' | 'group' | 'resources' | 'openapi-v3';

type Json = Readonly<Record<string, unknown>>;

/** @param documents parsed JSON of members, in the order of the clusters' names; other shapes are left out */
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

/** metav1.APIGroup with all versions and the first cluster's preferred one. */
function mergedGroup(groups: readonly Json[]): Json {
  const versions = byName(objectsOf(groups, 'versions'), ({ groupVersion }) => groupVersion, firstOf);
  return { ...groups[0], versions };
}

/** apidiscovery APIGroupDiscovery. */
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
  // The core group has none.
  return (isObject(metadata) ? metadata['name'] : undefined) ?? '';
}

function firstOf(same: readonly Json[]): Json {
  return same[0]!;
}

/** Merges objects of one name into one, in the order in which names first come. */
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
