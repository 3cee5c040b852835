// Which places, and which single objects, of one type a query may look at for one user: scope and the query's key columns together, as numbers. Easy to
// get wrong: what is not granted must not be in it, and a place granted twice must not be there twice, or counts come out wrong.
import { LRUCache } from 'lru-cache';

import type { ListQuery } from '../../query/list-query.ts';
import type { Grant } from '../../rights/scope.ts';
import type { TypeKey } from '../../types.ts';
import { incarnationOf, type Catalog } from './catalog.ts';
import type { Sql } from './sql.ts';

/** Grants of a scope as a reader keeps them. */
export type Grants = ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;

/** Rows of type `t` in these incarnations without the excepted places, in these places, and these objects; the three do not overlap. */
export interface Extent {
  readonly t: number;
  readonly type: TypeKey;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly places: readonly number[];
  readonly ids: readonly number[];
  /** Nothing of this type is outside of it. */
  readonly isWhole: boolean;
  /** {@link Extent.places} as JSON. */
  readonly placesJson: string;
  /** Rows in it; some seconds old when `isRough`. */
  readonly rows: number;
  readonly isRough: boolean;
  /** Rows of the type in all incarnations. */
  readonly typeRows: number;
}

/** What of an extent is the same in every transaction until a place is added. */
interface Granted {
  readonly catalogVersion: number;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly places: ReadonlySet<number>;
  readonly placesJson: string;
  readonly named: readonly (readonly [place: number, name: string])[];
  readonly namedAnywhere: ReadonlyMap<string, ReadonlySet<number>>;
  readonly filter: KeyFilter;
  /** Rows in the places as last counted. */
  counted: { readonly rows: number; readonly atMs: number } | undefined;
}

/** A user's grants are asked about again and again; they are one object while they do not change. */
const granted = new WeakMap<Grants, LRUCache<string, Granted>>();
/** Selections of one user that are remembered. */
const mostRemembered = 16;
/** With more places than this their rows are counted only so often. */
const manyPlaces = 256;
const countedForMs = 2000;

/** Undefined when nothing of the type can be in it. */
export function extentOf(
  sql: Sql,
  catalog: Catalog,
  query: ListQuery,
  type: TypeKey,
  grants: Grants,
): Extent | undefined {
  const t = catalog.types.get(type);
  if (t === undefined) return undefined;
  const known = remembered(catalog, query, type, grants);
  const { incarnations, except, places, placesJson } = known;
  const ids = resolveNames(sql, catalog, t, known);
  if (incarnations.length === 0 && places.size === 0 && ids.length === 0) return undefined;
  const followed = sql.all<[number, number]>('SELECT inc, objects FROM follow WHERE t = ?', [t]);
  const whole = new Set(incarnations);
  const isWhole = except.size === 0 && followed.every(([inc]) => whole.has(inc));
  const inIncarnations = followed.reduce((sum, [inc, objects]) => sum + (whole.has(inc) ? objects : 0), 0);
  const nowMs = performance.now();
  const isRough = places.size > manyPlaces;
  if (!isRough || known.counted === undefined || nowMs - known.counted.atMs > countedForMs) {
    known.counted = { rows: countRows(sql, t, placesJson), atMs: nowMs };
  }
  const rows = inIncarnations - countRows(sql, t, JSON.stringify([...except])) + known.counted.rows + ids.length;
  const typeRows = followed.reduce((sum, [, objects]) => sum + objects, 0);
  return { t, type, incarnations, except, places: [...places], placesJson, ids, isWhole, rows, isRough, typeRows };
}

/** Rows in it, exactly. */
export function extentRows(sql: Sql, extent: Extent): number {
  if (!extent.isRough) return extent.rows;
  const { t, placesJson, incarnations, except, ids } = extent;
  const followed = sql.all<[number, number]>('SELECT inc, objects FROM follow WHERE t = ?', [t]);
  const whole = new Set(incarnations);
  const inIncarnations = followed.reduce((sum, [inc, objects]) => sum + (whole.has(inc) ? objects : 0), 0);
  return inIncarnations - countRows(sql, t, JSON.stringify([...except])) + countRows(sql, t, placesJson) + ids.length;
}

function remembered(catalog: Catalog, query: ListQuery, type: TypeKey, grants: Grants): Granted {
  const { clusters, notClusters, namespaces, notNamespaces } = query;
  const key = JSON.stringify([type, clusters, notClusters, namespaces, notNamespaces]);
  let ofGrants = granted.get(grants);
  if (ofGrants === undefined) granted.set(grants, (ofGrants = new LRUCache({ max: mostRemembered })));
  const known = ofGrants.get(key);
  if (known !== undefined && known.catalogVersion === catalog.version) return known;
  const made = grantedTo(catalog, query, type, grants);
  ofGrants.set(key, made);
  return made;
}

function grantedTo(catalog: Catalog, query: ListQuery, type: TypeKey, grants: Grants): Granted {
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
  const placesJson = JSON.stringify([...places]);
  const catalogVersion = catalog.version;
  return { catalogVersion, incarnations, except, places, placesJson, named, namedAnywhere, filter, counted: undefined };
}

/** Sum of the counters of places. */
function countRows(sql: Sql, t: number, placesJson: string): number {
  if (placesJson === '[]') return 0;
  const text = 'SELECT sum(c.n) FROM json_each(?) p CROSS JOIN counter c ON c.t = ? AND c.place = p.value';
  return sql.first<[number | null]>(text, [placesJson, t])![0] ?? 0;
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

function resolveNames(
  sql: Sql,
  catalog: Catalog,
  t: number,
  { named, namedAnywhere, places, filter }: Granted,
): readonly number[] {
  const ids = new Set<number>();
  if (named.length > 0) {
    const rows = sql.all<[number, number]>(
      `SELECT o.id, o.place FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
      ON o.t = ? AND o.place = j.value ->> 0 AND o.name = j.value ->> 1`,
      [JSON.stringify(named), t],
    );
    for (const [id, place] of rows) if (!places.has(place)) ids.add(id);
  }
  if (namedAnywhere.size > 0) {
    const rows = sql.all<[number, number, string]>(
      `SELECT o.id, o.place, o.name FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_name
      ON o.t = ? AND o.name = j.value`,
      [JSON.stringify([...namedAnywhere.keys()]), t],
    );
    for (const [id, place, name] of rows) {
      if (!namedAnywhere.get(name)!.has(incarnationOf(place)) || places.has(place)) continue;
      if (filter.namespace(catalog.place(place).namespace)) ids.add(id);
    }
  }
  return [...ids];
}
