// The extent of a question: the rows of one type that it may examine for one user. It combines the user's grants with
// the query's conditions on cluster and namespace. Its parts do not overlap; otherwise rows would be counted twice.
import { among } from '../../narrow-namespaces.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import type { TypeKey } from '../../../query/types.ts';
import type { IncarnationRecord } from './catalog.ts';
import type { Snapshot } from './snapshot.ts';
import { anyHolds } from '../../sql/sql-fragment.ts';
import { allHold, bytes, bytesOf, concat, isOneOf, fragment, wholeTexts, type SqlFragment } from './sql.ts';

/** What a user may see: the grants by incarnation id, then by type. */
export type Grants = ReadonlyMap<string, ReadonlyMap<TypeKey, Grant>>;

/** A namespace of an incarnation, given by the incarnation's number. */
export interface Place {
  readonly inc: number;
  readonly namespace: string;
}

/** An object that was granted by its name, as its row id and namespace. */
export interface SingleRow extends Place {
  readonly id: number;
}

/**
 * The rows of type `t` that a question may examine: those of whole incarnations (`whole`, their numbers), those of
 * single namespaces (`places`), and single rows.
 */
export interface Extent {
  readonly t: number;
  readonly type: TypeKey;
  readonly whole: readonly number[];
  /** Namespaces that the query asks for. They restrict only `whole`. Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  readonly notNamespaces: readonly string[];
  readonly places: readonly Place[];
  readonly singles: readonly SingleRow[];
}

/** The rows of a type that a query may examine; undefined when no row of the type can match. */
export async function extentOf(
  snapshot: Snapshot,
  query: ListQuery,
  type: TypeKey,
  grants: Grants,
): Promise<Extent | undefined> {
  const t = snapshot.catalog.types.get(type);
  if (t === undefined) return undefined;
  const isWanted = among(query.namespaces, query.notNamespaces);
  // A namespace that is not valid UTF-16 is in no stored text, but as UTF-8 it could equal one (U+FFFD).
  const passes = (namespace: string): boolean => isWanted(namespace) && namespace.isWellFormed();
  const ofCluster = among(query.clusters, query.notClusters);
  const whole: number[] = [];
  const places: Place[] = [];
  const named: NamedObject[] = [];
  for (const [id, types] of grants) {
    const incarnation = snapshot.catalog.incarnations.get(id);
    const grant = types.get(type);
    if (incarnation === undefined || grant === undefined || !ofCluster(incarnation.cluster)) continue;
    if (grant === 'all') whole.push(incarnation.number);
    else {
      for (const namespace of new Set(grant.namespaces)) {
        if (passes(namespace)) places.push({ inc: incarnation.number, namespace });
      }
      for (const { namespace, name } of grant.names) {
        if (name.isWellFormed() && (namespace === undefined || passes(namespace)))
          named.push({ incarnation, namespace, name });
      }
    }
  }
  const granted = new Set(places.map(placeText));
  const found = await findNamed(snapshot, t, named);
  const singles = found.filter((row) => passes(row.namespace) && !granted.has(placeText(row)));
  const { namespaces, notNamespaces = [] } = query;
  const extent = { t, type, whole, namespaces, notNamespaces, places, singles };
  return isEmpty(extent) ? undefined : extent;
}

/** Whether the extent can contain no rows. */
export function isEmpty({ whole, places, singles, namespaces }: Extent): boolean {
  return (whole.length === 0 || namespaces?.length === 0) && places.length === 0 && singles.length === 0;
}

/** Whether the extent contains every row of its type. */
export async function isOfAllRows(
  { rows }: Snapshot,
  { t, whole, namespaces, notNamespaces }: Extent,
): Promise<boolean> {
  if (whole.length === 0 || namespaces !== undefined || notNamespaces.length > 0) return false;
  const others = fragment(
    'SELECT 1 FROM follow WHERE t = ? AND objects > 0 AND inc <> ALL(?::int4[]) LIMIT 1',
    t,
    whole,
  );
  return (await rows(others)).length === 0;
}

/** The part of the extent that is in some incarnations, given by their numbers. */
export function extentIn(extent: Extent, incs: ReadonlySet<number>): Extent {
  const isThere = ({ inc }: Place): boolean => incs.has(inc);
  const whole = extent.whole.filter((inc) => incs.has(inc));
  return { ...extent, whole, places: extent.places.filter(isThere), singles: extent.singles.filter(isThere) };
}

/** Numbers of the incarnations in which the extent may have rows. */
export function incarnationsOf({ whole, places, singles }: Extent): ReadonlySet<number> {
  return new Set([...whole, ...places.map(({ inc }) => inc), ...singles.map(({ inc }) => inc)]);
}

function placeText({ inc, namespace }: Place): string {
  return `${inc}/${namespace}`;
}

interface NamedObject {
  readonly incarnation: IncarnationRecord;
  /** The object's namespace; undefined for an object of this name in any namespace. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Finds the objects granted by name that exist. Each is returned once. */
async function findNamed(snapshot: Snapshot, t: number, named: readonly NamedObject[]): Promise<readonly SingleRow[]> {
  const found = new Map<number, SingleRow>();
  const find = async (some: readonly NamedObject[], on: string, namespaces: readonly Buffer[]): Promise<void> => {
    if (some.length === 0) return;
    const incs = some.map(({ incarnation }) => incarnation.number);
    const names = bytesOf(some.map(({ name }) => name));
    const text = `SELECT o.id, o.inc, o.namespace FROM unnest(?::int4[], ?::bytea[], ?::bytea[]) g(inc, namespace, name)
      JOIN obj o ON o.t = ? AND o.inc = g.inc ${on} AND o.name = g.name WHERE`;
    const there = allHold([fragment('true'), ...inShards(snapshot, incs)]);
    const statement = concat(fragment(text, incs, namespaces, names, t), there);
    const rows = await snapshot.rows<readonly [number, number, Buffer]>(statement);
    for (const [id, inc, namespace] of rows) found.set(id, { id, inc, namespace: namespace.toString() });
  };
  const placed = named.filter(({ namespace }) => namespace !== undefined);
  const anywhere = named.filter(({ namespace }) => namespace === undefined);
  await find(placed, 'AND o.namespace = g.namespace', bytesOf(placed.map(({ namespace }) => namespace!)));
  await find(anywhere, '', []);
  return [...found.values()];
}

/** A source of rows `o` (an object's row) for an SQL statement: the text after FROM, and conditions. */
export interface Part {
  readonly from: SqlFragment;
  readonly where: readonly SqlFragment[];
}

/**
 * Sources that together give the rows of the extent, from table `obj` or `counter`. Both tables have the columns t, inc
 * and namespace. Only `obj` has ids, so with `counter` the single rows are left out.
 */
export function partsOf(snapshot: Snapshot, extent: Extent, table: 'obj' | 'counter' = 'obj'): readonly Part[] {
  const { whole, places, singles, namespaces } = extent;
  const ofType = (incs: readonly number[]): readonly SqlFragment[] => [
    fragment('o.t = ?', extent.t),
    ...inShards(snapshot, incs),
  ];
  const parts: Part[] = [];
  if (whole.length > 0 && namespaces?.length !== 0) {
    const where = [...ofType(whole), isOneOf('o.inc', 'int4', whole), ...namespaceFragments(extent)];
    parts.push({ from: fragment(`${table} o`), where });
  }
  if (places.length > 0) {
    const incs = places.map(({ inc }) => inc);
    const text = `unnest(?::int4[], ?::bytea[]) g(inc, namespace) JOIN ${table} o ON o.inc = g.inc AND o.namespace = g.namespace`;
    const from = fragment(text, incs, bytesOf(places.map(({ namespace }) => namespace)));
    parts.push({ from, where: ofType(incs) });
  }
  if (singles.length > 0 && table === 'obj') {
    parts.push({ from: rowsById(snapshot, singles), where: ofType(singles.map(({ inc }) => inc)) });
  }
  return parts;
}

/**
 * The most shards in a condition on shards. With more, nearly every partition has one of them, so the condition would
 * exclude no partition.
 */
const mostShards = 32;

/** A condition on shards that lets the planner leave out partitions without rows of these incarnations. */
function inShards({ catalog }: Snapshot, incs: readonly number[]): readonly SqlFragment[] {
  const shards = new Set(incs.map((inc) => catalog.byNumber.get(inc)!.shard));
  return shards.size > mostShards ? [] : [isOneOf('o.shard', 'int2', [...shards])];
}

/** A source (the text after FROM) of the rows with these ids, named `o`. */
export function rowsById(
  { catalog }: Snapshot,
  rows: readonly { readonly id: number; readonly inc: number }[],
): SqlFragment {
  const shards = rows.map(({ inc }) => catalog.byNumber.get(inc)!.shard);
  // Because of the SELECT around them, the planner does not see how long the arrays are. Otherwise it would choose to
  // read whole tables for a thousand rows.
  const text =
    'unnest((SELECT ?::int2[]), (SELECT ?::int8[])) g(shard, id) JOIN obj o ON o.shard = g.shard AND o.id = g.id';
  const ids = rows.map(({ id }) => id);
  return fragment(text, shards, ids);
}

function namespaceFragments({ namespaces, notNamespaces }: Extent): readonly SqlFragment[] {
  const fragments: SqlFragment[] = [];
  if (namespaces !== undefined) fragments.push(isOneOf('o.namespace', 'bytea', wholeTexts(namespaces)));
  if (notNamespaces.length > 0) fragments.push(fragment('o.namespace <> ALL(?::bytea[])', wholeTexts(notNamespaces)));
  return fragments;
}

/** A condition on `o` that is true for the rows of the extent, and only for these. */
export function memberFragment(extent: Extent): SqlFragment {
  const any: SqlFragment[] = [];
  const { whole, places, singles } = extent;
  if (whole.length > 0) {
    const inside = [isOneOf('o.inc', 'int4', whole), ...namespaceFragments(extent)];
    const { text, values } = allHold(inside);
    any.push({ text: `(${text})`, values });
  }
  if (places.length > 0) {
    // `IS TRUE` makes the comparison a value. For the comparison alone the planner would choose a join, and the rows
    // would lose their order.
    const text = '((o.inc, o.namespace) IN (SELECT * FROM unnest(?::int4[], ?::bytea[]))) IS TRUE';
    any.push(
      fragment(
        text,
        places.map(({ inc }) => inc),
        places.map(({ namespace }) => bytes(namespace)),
      ),
    );
  }
  if (singles.length > 0)
    any.push(
      fragment(
        'o.id = ANY(?::int8[])',
        singles.map(({ id }) => id),
      ),
    );
  return any.length === 0 ? fragment('false') : anyHolds(any);
}
