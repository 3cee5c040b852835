// Which places, and which single objects, of one type a query may look at for one user: scope and the query's key
// columns together, as numbers. Easy to get wrong: what is not granted must not be in it, and a place granted twice
// must not be there twice, or counts come out wrong.
import { LRUCache } from 'lru-cache';

import type { ListQuery } from '../../../query/list-query.ts';
import type { Grant } from '../../../rights/scope.ts';
import type { TypeKey } from '../../../types.ts';
import type { Catalog, Place } from '../catalog.ts';
import type { Transaction } from '../transaction.ts';
import { SingleRows, type SingleList } from '../memory/single-rows.ts';
import type { Sql } from '../sql.ts';

/** Grants of a scope as a reader keeps them. */
export type Grants = ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;

/**
 * Rows of type `t` in these incarnations without the excepted places, in these places, and these objects; the three do
 * not overlap.
 */
export interface Extent {
  readonly t: number;
  readonly type: TypeKey;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly places: readonly number[];
  readonly ids: readonly number[];
  /** The objects of {@link Extent.ids}. */
  readonly singles: SingleList;
  /** Nothing of this type is outside of it. */
  readonly isWhole: boolean;
  /** {@link Extent.incarnations}, {@link Extent.except} and {@link Extent.places} as JSON. */
  readonly incarnationsJson: string;
  readonly exceptJson: string;
  readonly placesJson: string;
  /** About how many rows are in it, some seconds ago: what a way to them costs. {@link extentRows} says it exactly. */
  readonly rows: number;
  /** About how many rows of the type there are in all incarnations. */
  readonly typeRows: number;
}

/**
 * What of an extent is the same in every transaction until a place is added or a type is followed in one more
 * incarnation.
 */
interface Granted {
  readonly catalogVersion: number;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly placeList: readonly number[];
  readonly isWhole: boolean;
  readonly incarnationsJson: string;
  readonly exceptJson: string;
  readonly placesJson: string;
  readonly singles: SingleRows;
  /** Rows as last counted, single objects not among them. */
  counted: { readonly rows: number; readonly typeRows: number; readonly atMs: number } | undefined;
}

/** A user's grants are asked about again and again; they are one object while they do not change. */
const granted = new WeakMap<Grants, LRUCache<string, Granted>>();
/** Selections of one user that are remembered. */
const mostRemembered = 16;
/** Rows are counted only so often where a rough number will do. */
const countedForMs = 2000;

/** Undefined when nothing of the type can be in it. */
export function extentOf(session: Transaction, query: ListQuery, type: TypeKey, grants: Grants): Extent | undefined {
  const { sql, catalog } = session;
  const t = catalog.types.get(type);
  if (t === undefined) return undefined;
  const known = remembered({ sql, catalog, t }, query, type, grants);
  const { incarnations, except, placeList, placesJson, incarnationsJson, exceptJson, isWhole } = known;
  const singles = known.singles.list(session);
  const { ids } = singles;
  if (incarnations.length === 0 && placeList.length === 0 && ids.length === 0) return undefined;
  const nowMs = performance.now();
  if (known.counted === undefined || nowMs - known.counted.atMs > countedForMs) {
    known.counted = { rows: countRows(session, t, known, known.placeList), typeRows: countType(sql, t), atMs: nowMs };
  }
  const { typeRows } = known.counted;
  const rows = known.counted.rows + ids.length;
  const json = { incarnationsJson, exceptJson, placesJson };
  return { t, type, incarnations, except, places: placeList, ids, singles, isWhole, ...json, rows, typeRows };
}

/** Rows in it, exactly. */
export function extentRows(session: Transaction, extent: Extent): number {
  return countRows(session, extent.t, extent, extent.places) + extent.ids.length;
}

/** From so many places on, their rows are summed in memory. */
const manyPlaces = 50;

/** Rows of each of some places; empty ones may be missing. */
export function rowsByPlace(
  session: Transaction,
  t: number,
  places: readonly number[],
  placesJson: string,
): readonly (readonly [place: number, rows: number])[] {
  if (places.length === 0) return [];
  if (places.length < manyPlaces) {
    const text = 'SELECT c.place, c.n FROM json_each(?) p CROSS JOIN counter c ON c.t = ? AND c.place = p.value';
    return session.sql.all<[number, number]>(text, [placesJson, t]);
  }
  const counts = session.memory.rowCounts(session, t);
  return places.map((place) => [place, counts.of(place)] as const);
}

interface OfType {
  readonly sql: Sql;
  readonly catalog: Catalog;
  readonly t: number;
}

function remembered(of: OfType, query: ListQuery, type: TypeKey, grants: Grants): Granted {
  const { catalog } = of;
  const { clusters, notClusters, namespaces, notNamespaces } = query;
  const key = JSON.stringify([type, clusters, notClusters, namespaces, notNamespaces]);
  let ofGrants = granted.get(grants);
  if (ofGrants === undefined) granted.set(grants, (ofGrants = new LRUCache({ max: mostRemembered })));
  const known = ofGrants.get(key);
  if (known !== undefined && known.catalogVersion === catalog.version) return known;
  const made = grantedTo(of, query, type, grants);
  ofGrants.set(key, made);
  return made;
}

function grantedTo({ sql, catalog, t }: OfType, query: ListQuery, type: TypeKey, grants: Grants): Granted {
  const filter = keyFilter(query);
  const incarnations: number[] = [];
  const places = new Set<number>();
  const named: [place: number, name: string][] = [];
  const namedAnywhere = new Map<string, Set<number>>();
  for (const [id, types] of grants) {
    const incarnation = catalog.incarnations.get(id);
    const grant = types.get(type);
    if (incarnation === undefined || grant === undefined || !filter.cluster(incarnation.cluster)) continue;
    const placesHere = catalog.placesOf.get(incarnation.number)!;
    const add = (namespace: string): void => {
      const place = placesHere.get(namespace);
      if (place !== undefined && filter.namespace(namespace)) places.add(place.number);
    };
    if (grant === 'all') {
      if (query.namespaces === undefined) incarnations.push(incarnation.number);
      else for (const namespace of query.namespaces) add(namespace);
      continue;
    }
    for (const namespace of grant.namespaces) add(namespace);
    for (const { namespace, name } of grant.names) {
      if (namespace === undefined) {
        namedAnywhere.set(name, (namedAnywhere.get(name) ?? new Set()).add(incarnation.number));
      } else {
        const place = placesHere.get(namespace);
        if (place !== undefined && filter.namespace(namespace)) named.push([place.number, name]);
      }
    }
  }
  const except = excepted(catalog, query, incarnations);
  const whole = new Set(incarnations);
  const followed = sql.all<[number]>('SELECT inc FROM follow WHERE t = ?', [t]);
  const placeList = [...places];
  const isLeftOut = ({ number, namespace }: Place): boolean => places.has(number) || !filter.namespace(namespace);
  return {
    catalogVersion: catalog.version,
    incarnations,
    except,
    placeList,
    isWhole: except.size === 0 && followed.every(([inc]) => whole.has(inc)),
    incarnationsJson: JSON.stringify(incarnations),
    exceptJson: JSON.stringify([...except]),
    placesJson: JSON.stringify(placeList),
    singles: new SingleRows({ t, type, named, namedAnywhere, isLeftOut }),
    counted: undefined,
  };
}

type Counted = Pick<Extent, 'isWhole' | 'incarnationsJson' | 'except' | 'exceptJson' | 'placesJson'>;

/** Rows of whole incarnations and places, by the counters. */
function countRows(
  session: Transaction,
  t: number,
  { isWhole, incarnationsJson, except, exceptJson, placesJson }: Counted,
  places: readonly number[],
): number {
  const { sql } = session;
  if (isWhole) return countType(sql, t);
  const countPlaces = (some: readonly number[], json: string): number =>
    rowsByPlace(session, t, some, json).reduce((sum, [, n]) => sum + n, 0);
  const inIncarnations = incarnationsJson === '[]' ? 0 : countIncarnations(sql, t, incarnationsJson);
  return inIncarnations - countPlaces([...except], exceptJson) + countPlaces(places, placesJson);
}

function countType(sql: Sql, t: number): number {
  return sql.first<[number | null]>('SELECT sum(objects) FROM follow WHERE t = ?', [t])![0] ?? 0;
}

function countIncarnations(sql: Sql, t: number, incarnationsJson: string): number {
  const text = 'SELECT sum(f.objects) FROM json_each(?) j CROSS JOIN follow f ON f.t = ? AND f.inc = j.value';
  return sql.first<[number | null]>(text, [incarnationsJson, t])![0] ?? 0;
}

interface KeyFilter {
  readonly cluster: (cluster: string) => boolean;
  readonly namespace: (namespace: string) => boolean;
}

function keyFilter({ clusters, notClusters, namespaces, notNamespaces }: ListQuery): KeyFilter {
  return { cluster: among(clusters, notClusters), namespace: among(namespaces, notNamespaces) };
}

function among(wanted: readonly string[] | undefined, unwanted: readonly string[] = []): (value: string) => boolean {
  const yes = wanted === undefined ? undefined : new Set(wanted);
  const no = new Set(unwanted);
  return (value) => !no.has(value) && (yes === undefined || yes.has(value));
}

function excepted(catalog: Catalog, { notNamespaces = [] }: ListQuery, incarnations: readonly number[]): Set<number> {
  const except = new Set<number>();
  if (notNamespaces.length === 0) return except;
  for (const incarnation of incarnations) {
    const places = catalog.placesOf.get(incarnation)!;
    for (const namespace of notNamespaces) {
      const place = places.get(namespace);
      if (place !== undefined) except.add(place.number);
    }
  }
  return except;
}
