// Which types the index holds of which members, and in which version a request can be answered. Easy to get wrong: the
// index keeps one version of an object. Another version is the same object with another apiVersion only where the CRD
// says so.
import { GatewayError } from '../../cache/model/errors.ts';
import type { IndexStore, StoredType } from '../stores/store.ts';
import type { RowScope } from '../rights/scope.ts';
import type { ClusterState, TypeState } from '../sync/sync-types.ts';
import { typeKey } from '../types.ts';
import type { Incarnation, ResourceType, TypeInfo, TypeKey } from '../types.ts';
import type { Warning } from './answer-body.ts';
import { scopeConcerns, scopeWithout } from './visible.ts';

/** Of the documents the index answers of its own. */
export const searchVersion = 'search.portcullis.io/v1alpha1';

/** Everything the store keeps, by type. */
export interface Catalog {
  readonly all: readonly StoredType[];
  of(type: TypeKey): readonly StoredType[];
  has(incarnation: string, type: TypeKey): boolean;
}

/** `group/version`, or the version alone for the core group. */
export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** What a catalog is made from. */
export interface CatalogSources {
  readonly store: Pick<IndexStore, 'types' | 'catalogVersion'>;
  /** How clusters are followed now. */
  readonly states: () => readonly ClusterState[];
  /** Calls whenever `states` or `isChosen` may say otherwise. */
  readonly onChange: (listener: () => void) => void;
  /** Whether a type of a cluster that is not followed yet is among what is to be served. */
  readonly isChosen: (stored: StoredType) => boolean;
}

/** How far types were followed, and how many objects there are, may be so old. */
const longestMs = 30_000;

/**
 * Reads the catalog when it may have changed, and looks for that at most once in `maxAgeMs`: the same object as before
 * says that nothing has. @throws GatewayError (rejects) as the store does
 */
export function makeCatalogReader(
  { store, states, isChosen, onChange }: CatalogSources,
  maxAgeMs = 500,
  nowMs: () => number = () => performance.now(),
): () => Promise<Catalog> {
  let known: { readonly catalog: Catalog; readonly version: string; readonly readAtMs: number } | undefined;
  let changes = 0;
  onChange(() => (changes += 1));
  const read = async (): Promise<Catalog> => {
    const readAtMs = nowMs();
    // Both before what they are about is read, so that it is never older.
    const version = `${changes} ${await store.catalogVersion()}`;
    if (known?.version === version && readAtMs - known.readAtMs < longestMs) return known.catalog;
    const catalog = catalogOf(servedTypes(await store.types(), states(), isChosen));
    known = { version, readAtMs, catalog };
    return catalog;
  };
  let last: { readonly reading: Promise<Catalog>; readonly atMs: number } | undefined;
  return () => {
    if (last !== undefined && nowMs() - last.atMs < maxAgeMs) return last.reading;
    const mine = { reading: read(), atMs: nowMs() };
    last = mine;
    mine.reading.catch(() => {
      if (last === mine) last = undefined;
    });
    return mine.reading;
  };
}

/** What is kept for rights alone is not served; what is chosen is served before its first row is there. */
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

/** A catalog of what is served. */
export function catalogOf(all: readonly StoredType[]): Catalog {
  const byType = Map.groupBy(all, ({ type }) => typeKey(type));
  const holders = new Map(
    [...byType].map(([key, stored]) => [key, new Set(stored.map(({ incarnation }) => incarnation.id))]),
  );
  return {
    all,
    of: (type) => byType.get(type) ?? [],
    has: (incarnation, type) => holders.get(type)?.has(incarnation) === true,
  };
}

/**
 * Types by which it is decided whether a caller may know of a cluster: all that is kept and what is chosen, so that one
 * of which nothing could be read counts, too.
 */
export function askedAbout({ all }: Catalog, chosen: readonly ResourceType[]): readonly ResourceType[] {
  const types = [...all.map(({ type }) => type), ...chosen];
  return [...new Map(types.map(({ group, resource }) => [typeKey({ group, resource }), { group, resource }])).values()];
}

/** A type in the version asked for, and what of the index can be shown in it. */
export interface TypeView {
  readonly type: TypeInfo;
  /** `group/version`. */
  readonly apiVersion: string;
  /** Of incarnations that keep another version of the same schema: rows need the apiVersion of the view. */
  readonly rewritten: ReadonlySet<string>;
  /** Incarnations whose rows exist in another version only. */
  readonly leftOut: ReadonlyMap<string, string>;
}

/**
 * The view of a type in a version, of clusters that the scope concerns; undefined when none of them has it.
 * @param version undefined: whatever is kept
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
  // No row can be shown in this version. The type still has the version when some member serves it.
  shown ??= known.map(({ type }) => type).find((type) => version !== undefined && type.versions.includes(version));
  if (shown === undefined) return undefined;
  const type = version === undefined ? shown : { ...shown, version };
  return { type, apiVersion: apiVersionOf(type.group, type.version), rewritten, leftOut };
}

/** Rows of these views that the caller may see, and who is left out because of its version. */
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

/** So many reasons are part of a message. */
const mostReasons = 3;

/**
 * 404 for a type that the index does not hold, or holds of no cluster that the caller may see: the same words for both.
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
