// The extent of a question: the namespace slots and single objects of one type that a query may examine for one user.
// It combines the user's grants with the query's conditions on cluster and namespace, as numbers. A slot (a namespace
// of one cluster) that is granted twice is included once; otherwise its rows would be counted twice.
import { LRUCache } from 'lru-cache';

import { among } from '../../narrow-namespaces.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import type { TypeKey } from '../../../query/types.ts';
import type { Catalog, NamespaceSlot } from '../tables/catalog.ts';
import type { Transaction } from '../tables/transaction.ts';
import { SingleRows, type SingleList } from './single-rows.ts';
import type { Sql } from '../tables/sql.ts';

/** What a user may see: the grants by incarnation id, then by type. */
export type Grants = ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;

/**
 * The rows of type `t` that a query may examine: all rows of `incarnations` except those in the slots `except`, all
 * rows of `slots`, and the objects with the row ids `ids`. No row is in two of these sets.
 */
export interface Extent {
  readonly t: number;
  readonly type: TypeKey;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly slots: readonly number[];
  readonly ids: readonly number[];
  /** The objects of {@link Extent.ids} with their sort keys. */
  readonly singles: SingleList;
  /** True when these rows, which are those that the caller may see, are all rows of the type. */
  readonly isWhole: boolean;
  /** {@link Extent.incarnations}, {@link Extent.except} and {@link Extent.slots} as JSON. */
  readonly incarnationsJson: string;
  readonly exceptJson: string;
  readonly slotsJson: string;
  /** Number of rows, up to two seconds old. Used to compare costs; {@link extentRows} gives the exact number. */
  readonly rows: number;
  /** Number of rows of the type in all incarnations, up to two seconds old. */
  readonly typeRows: number;
}

/**
 * The part of an extent (the rows that a caller may see) that stays the same until the index gets one more namespace,
 * or objects of the type from one more cluster.
 */
interface Granted {
  readonly catalogVersion: number;
  readonly incarnations: readonly number[];
  readonly except: ReadonlySet<number>;
  readonly slotList: readonly number[];
  readonly isWhole: boolean;
  readonly incarnationsJson: string;
  readonly exceptJson: string;
  readonly slotsJson: string;
  readonly singles: SingleRows;
  /** Numbers of rows without the objects granted by name, counted at `atMs`; undefined before the first count. */
  counted: { readonly rows: number; readonly typeRows: number; readonly atMs: number } | undefined;
}

/** Cached parts of extents, by grants. While the grants of a user do not change, they are the same object. */
const granted = new WeakMap<Grants, LRUCache<string, Granted>>();
/** How many combinations of type and conditions are cached for each user. The least recently used is dropped. */
const mostRemembered = 16;
/** Milliseconds after which the numbers in {@link Granted.counted} are counted again. */
const countedForMs = 2000;

/** The rows that a query may examine; undefined when no row of the type can match. */
export function extentOf(session: Transaction, query: ListQuery, type: TypeKey, grants: Grants): Extent | undefined {
  const { sql, catalog } = session;
  const t = catalog.types.get(type);
  if (t === undefined) return undefined;
  const known = remembered({ sql, catalog, t }, query, type, grants);
  const { incarnations, except, slotList, slotsJson, incarnationsJson, exceptJson, isWhole } = known;
  const singles = known.singles.list(session);
  const { ids } = singles;
  if (incarnations.length === 0 && slotList.length === 0 && ids.length === 0) return undefined;
  const nowMs = performance.now();
  if (known.counted === undefined || nowMs - known.counted.atMs > countedForMs) {
    known.counted = { rows: countRows(session, t, known, known.slotList), typeRows: countType(sql, t), atMs: nowMs };
  }
  const { typeRows } = known.counted;
  const rows = known.counted.rows + ids.length;
  const json = { incarnationsJson, exceptJson, slotsJson };
  return { t, type, incarnations, except, slots: slotList, ids, singles, isWhole, ...json, rows, typeRows };
}

/** The exact number of rows in the extent. */
export function extentRows(session: Transaction, extent: Extent): number {
  return countRows(session, extent.t, extent, extent.slots) + extent.ids.length;
}

/** For this many namespace slots or more, the counts are taken from memory; for fewer slots from table `counter`. */
const manySlots = 50;

/** The number of rows of each slot. Slots without rows may be missing. */
export function rowsBySlot(
  session: Transaction,
  t: number,
  slots: readonly number[],
  slotsJson: string,
): readonly (readonly [slot: number, rows: number])[] {
  if (slots.length === 0) return [];
  if (slots.length < manySlots) {
    const text = 'SELECT c.place, c.n FROM json_each(?) p CROSS JOIN counter c ON c.t = ? AND c.place = p.value';
    return session.sql.all<[number, number]>(text, [slotsJson, t]);
  }
  const counts = session.memory.rowCounts(session, t);
  return slots.map((slot) => [slot, counts.of(slot)] as const);
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
  const slots = new Set<number>();
  const named: [slot: number, name: string][] = [];
  const namedAnywhere = new Map<string, Set<number>>();
  for (const [id, types] of grants) {
    const incarnation = catalog.incarnations.get(id);
    const grant = types.get(type);
    if (incarnation === undefined || grant === undefined || !filter.cluster(incarnation.cluster)) continue;
    const slotsHere = catalog.slotsOf.get(incarnation.number)!;
    const add = (namespace: string): void => {
      const slot = slotsHere.get(namespace);
      if (slot !== undefined && filter.namespace(namespace)) slots.add(slot.number);
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
        const slot = slotsHere.get(namespace);
        if (slot !== undefined && filter.namespace(namespace)) named.push([slot.number, name]);
      }
    }
  }
  const except = excepted(catalog, query, incarnations);
  const whole = new Set(incarnations);
  const followed = sql.all<[number]>('SELECT inc FROM follow WHERE t = ?', [t]);
  const slotList = [...slots];
  const isLeftOut = ({ number, namespace }: NamespaceSlot): boolean =>
    slots.has(number) || !filter.namespace(namespace);
  return {
    catalogVersion: catalog.version,
    incarnations,
    except,
    slotList,
    isWhole: except.size === 0 && followed.every(([inc]) => whole.has(inc)),
    incarnationsJson: JSON.stringify(incarnations),
    exceptJson: JSON.stringify([...except]),
    slotsJson: JSON.stringify(slotList),
    singles: new SingleRows({ t, type, named, namedAnywhere, isLeftOut }),
    counted: undefined,
  };
}

type Counted = Pick<Extent, 'isWhole' | 'incarnationsJson' | 'except' | 'exceptJson' | 'slotsJson'>;

/** The number of rows in complete incarnations and slots, from the stored counters. */
function countRows(
  session: Transaction,
  t: number,
  { isWhole, incarnationsJson, except, exceptJson, slotsJson }: Counted,
  slots: readonly number[],
): number {
  const { sql } = session;
  if (isWhole) return countType(sql, t);
  const countSlots = (some: readonly number[], json: string): number =>
    rowsBySlot(session, t, some, json).reduce((sum, [, n]) => sum + n, 0);
  const inIncarnations = incarnationsJson === '[]' ? 0 : countIncarnations(sql, t, incarnationsJson);
  return inIncarnations - countSlots([...except], exceptJson) + countSlots(slots, slotsJson);
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

function excepted(catalog: Catalog, { notNamespaces = [] }: ListQuery, incarnations: readonly number[]): Set<number> {
  const except = new Set<number>();
  if (notNamespaces.length === 0) return except;
  for (const incarnation of incarnations) {
    const slots = catalog.slotsOf.get(incarnation)!;
    for (const namespace of notNamespaces) {
      const slot = slots.get(namespace);
      if (slot !== undefined) except.add(slot.number);
    }
  }
  return except;
}
