// Knows which types the index has of which clusters, and in which version it can show them. Easy to get wrong: the
// index stores an object in one version only. It can be shown in another version by changing its apiVersion, but only
// when the CRD has the conversion strategy None.
import { GatewayError } from '../../model/errors.ts';
import type { StoredType } from '../../store/store.ts';
import type { StoredTypes } from '../../store/stored-types.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { ClusterState, TypeState } from '../../sync/member/sync-types.ts';
import type { SyncView } from '../../sync/sync-view.ts';
import { typeKey } from '../../query/types.ts';
import type { Incarnation, LiveType, ResourceType, TypeInfo, TypeKey } from '../../query/types.ts';
import type { Warning } from '../answer/answer-body.ts';
import { scopeConcerns, scopeWithout } from '../request/visible.ts';

/** The apiVersion of documents that only the index has, such as counts and facets. */
export const searchVersion = 'search.portcullis.io/v1alpha1';

/** A type that one cluster serves. */
export type ServedType = Pick<StoredType, 'incarnation' | 'type'>;

/** A type of one cluster of which the index has no rows. */
export interface ServedLive extends ServedType {
  readonly type: LiveType;
}

/** The types that the index may show: one entry for each type and each cluster of which it stores objects. */
export interface Catalog {
  readonly all: readonly StoredType[];
  /** The types of which the index stores no objects, one entry for each cluster that serves them. */
  readonly live: readonly ServedLive[];
  of(type: TypeKey): readonly StoredType[];
  /** The types in `live` that have this key, one entry for each cluster. */
  liveOf(type: TypeKey): readonly ServedLive[];
  has(incarnation: string, type: TypeKey): boolean;
  /**
   * The names of the clusters whose discovery was read, so that `live` has every type of theirs of which the index
   * stores no objects.
   */
  readonly discovered: ReadonlySet<string>;
}

/** The apiVersion of a group and version: `group/version`, in the core group only the version. */
export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The sources that a catalog is made from: stored types, the state of each cluster, and the configuration. */
export interface CatalogSources {
  readonly types: StoredTypes;
  /** Says of each cluster which of its types are up to date in the index. */
  readonly sync: Pick<SyncView, 'state' | 'version'>;
  /**
   * Whether a stored type may be served although its cluster is not being listed and watched at the moment: true when
   * the configuration selects it.
   */
  readonly isChosen: (stored: StoredType) => boolean;
}

/**
 * Returns a function that reads the catalog, and reads it again when it is older than `maxAgeMs`.
 * @throws GatewayError (rejects) when the index store cannot be read
 */
export function makeCatalogReader(
  { types, sync, isChosen }: CatalogSources,
  maxAgeMs = 500,
  nowMs: () => number = () => performance.now(),
): () => Promise<Catalog> {
  let made: { readonly stored: readonly StoredType[]; readonly version: number; readonly catalog: Catalog } | undefined;
  let read: Promise<Catalog> | undefined;
  let readAtMs = 0;
  const readNow = async (): Promise<Catalog> => {
    const stored = await types();
    const { version } = sync;
    if (made?.stored !== stored || made.version !== version) {
      const states = sync.state();
      made = { stored, version, catalog: catalogOf(servedTypes(stored, states, isChosen), states) };
    }
    return made.catalog;
  };
  // Right after a start, and while a damaged store is built anew, the catalog is empty for a moment. An empty catalog
  // must not be used any more once types are known, or requests for them would get 404.
  const isOutdated = (): boolean => made?.catalog.all.length === 0 && made.version !== sync.version;
  return () => {
    if (read !== undefined && nowMs() - readAtMs < maxAgeMs && !isOutdated()) return read;
    readAtMs = nowMs();
    const reading = readNow();
    read = reading;
    reading.catch(() => {
      if (read === reading) read = undefined;
    });
    return reading;
  };
}

/**
 * The types that may appear in answers. Types that are stored only to decide access are left out. A selected type is
 * included even before it has rows.
 */
export function servedTypes(
  stored: readonly StoredType[],
  states: readonly ClusterState[],
  isChosen: CatalogSources['isChosen'],
): readonly StoredType[] {
  const followed = new Map<string, { readonly incarnation: Incarnation; readonly state: TypeState }>();
  for (const { incarnation, types } of states) {
    if (incarnation === undefined) continue;
    for (const state of types) followed.set(`${incarnation.id} ${typeKey(state.type)}`, { incarnation, state });
  }
  const served = stored.filter((each) => {
    const key = `${each.incarnation.id} ${typeKey(each.type)}`;
    const known = followed.get(key);
    followed.delete(key);
    return known === undefined ? isChosen(each) : known.state.isChosen;
  });
  const position = { resourceVersion: '', confirmedAtMs: 0 };
  const coming = [...followed.values()].filter(({ state }) => state.isChosen);
  return [
    ...served,
    ...coming.map(({ incarnation, state: { type } }) => ({ incarnation, type, position, objects: 0 })),
  ];
}

/** Makes a catalog that contains exactly these stored types, and the live types of these clusters. */
export function catalogOf(all: readonly StoredType[], states: readonly ClusterState[] = []): Catalog {
  const byType = Map.groupBy(all, ({ type }) => typeKey(type));
  const holders = new Map(
    [...byType].map(([key, stored]) => [key, new Set(stored.map(({ incarnation }) => incarnation.id))]),
  );
  const live = states.flatMap(({ incarnation, live: types = [] }) =>
    incarnation === undefined ? [] : types.map((type) => ({ incarnation, type })),
  );
  let liveByType: ReadonlyMap<TypeKey, readonly ServedLive[]> | undefined;
  const discovered = new Set(states.filter((state) => state.live !== undefined).map(({ cluster }) => cluster));
  return {
    all,
    live,
    of: (type) => byType.get(type) ?? [],
    liveOf(type) {
      liveByType ??= Map.groupBy(live, (each) => typeKey(each.type));
      return liveByType.get(type) ?? [];
    },
    has: (incarnation, type) => holders.get(type)?.has(incarnation) === true,
    discovered,
  };
}

/**
 * The types that decide whether a caller may know that a cluster exists: the gateway must let the caller request one of
 * them from that cluster. These are all stored and all selected types. Selected types are needed for a cluster of which
 * nothing could be read yet.
 */
export function askedAbout({ all }: Catalog, chosen: readonly ResourceType[]): readonly ResourceType[] {
  const types = [...all.map(({ type }) => type), ...chosen];
  return [...new Map(types.map(({ group, resource }) => [typeKey({ group, resource }), { group, resource }])).values()];
}

/** A type in the requested version, and which stored rows can be shown in that version. */
export interface TypeView {
  readonly type: TypeInfo;
  /** The apiVersion in which objects are shown: `group/version`, in the core group only the version. */
  readonly apiVersion: string;
  /**
   * The clusters that store the type in another version with the same schema, by incarnation id. Their rows are shown
   * with the `apiVersion` above.
   */
  readonly rewritten: ReadonlySet<string>;
  /** The clusters whose rows cannot be shown in this version, by incarnation id, each with the reason. */
  readonly leftOut: ReadonlyMap<string, string>;
}

/**
 * Finds how a type can be shown in a version. Only stored types for which `isKnown` returns true count. Returns
 * undefined when no stored type can be shown.
 * @param version undefined for whatever version is stored
 */
export function typeView(
  catalog: Catalog,
  asked: ResourceType,
  version: string | undefined,
  isKnown: (stored: StoredType) => boolean,
): TypeView | undefined {
  const known = catalog.of(typeKey(asked)).filter(isKnown);
  const rewritten = new Set<string>();
  const leftOut = new Map<string, string>();
  let shown: TypeInfo | undefined;
  for (const { incarnation, type } of known) {
    if (version === undefined || type.version === version) {
      shown = shown !== undefined && shown.version === (version ?? shown.version) ? shown : type;
    } else if (type.convertible && type.versions.includes(version)) {
      rewritten.add(incarnation.id);
      shown ??= { ...type, version };
    } else leftOut.set(incarnation.id, `keeps ${asked.resource} as ${apiVersionOf(type.group, type.version)}`);
  }
  // No stored row can be shown in this version. The result is still defined when a cluster serves the version.
  shown ??= known.map(({ type }) => type).find((type) => version !== undefined && type.versions.includes(version));
  if (shown === undefined) return undefined;
  const type = version === undefined ? shown : { ...shown, version };
  return { type, apiVersion: apiVersionOf(type.group, type.version), rewritten, leftOut };
}

/**
 * Removes the rows that cannot be shown in the requested versions from those that the caller may see, and makes a
 * warning for each cluster concerned.
 */
export function scopeOfViews(
  scope: RowScope,
  views: readonly TypeView[],
  catalog: Catalog,
): { readonly scope: RowScope; readonly warnings: readonly Warning[] } {
  const byKey = new Map(views.map((view) => [typeKey(view.type), view]));
  const warnings: Warning[] = [];
  for (const [key, { leftOut, apiVersion }] of byKey) {
    if (leftOut.size === 0) continue;
    for (const { incarnation } of catalog.of(key)) {
      const why = leftOut.get(incarnation.id);
      if (why === undefined || !scopeConcerns(scope, incarnation.id, key)) continue;
      const text = `left out: the index ${why}; ask /clusters/${incarnation.cluster}/proxy for ${apiVersion}`;
      warnings.push({ cluster: incarnation.cluster, text });
    }
  }
  const isLeftOut = (incarnation: string, type: TypeKey): boolean =>
    !catalog.has(incarnation, type) || byKey.get(type)?.leftOut.has(incarnation) === true;
  return { scope: scopeWithout(scope, isLeftOut), warnings };
}

/** The message of the 404 error contains at most this number of reasons. */
const mostReasons = 3;

/**
 * The 404 error for a type that the index does not have, or has only of clusters that the caller may not see. The text
 * is the same in both cases.
 * @param reasons why clusters that the caller may see are not in the index
 */
export function notIndexed(
  asked: ResourceType,
  version: string | undefined,
  cluster?: string,
  reasons: readonly Warning[] = [],
): GatewayError {
  const { group, resource } = asked;
  const name = group === '' ? resource : `${resource}.${group}`;
  const where = cluster === undefined ? 'any cluster you may see it in' : `cluster "${cluster}"`;
  const what = version === undefined ? name : `${name} in version ${version}`;
  const shown = reasons
    .slice(0, mostReasons)
    .map((reason) => `; cluster ${JSON.stringify(reason.cluster)}: ${reason.text}`);
  const more = reasons.length > shown.length ? `; and ${reasons.length - shown.length} more clusters` : '';
  return new GatewayError(
    'NOT_FOUND',
    `${what} is not indexed of ${where}; --index-resources chooses what is, /clusters/<name>/proxy has everything${shown.join('')}${more}`,
    { kind: resource, group, ...(reasons.length === 0 ? {} : { warnings: reasons }) },
  );
}
