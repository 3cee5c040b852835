// Looks up one object by its complete key, with one short statement: it reads the state of the index and the object at
// the same moment, without a transaction around it. That takes half of the CPU time of a page.
import { grantAllows } from '../../../query/scope/grants.ts';
import type { RowScope } from '../../../query/scope/scope.ts';
import type { Point } from '../../point.ts';
import type { RowRead } from '../../store.ts';
import type { Database } from '../connection/database.ts';
import { copyOf, type CopyRow } from '../connection/script.ts';
import type { Catalog, IncarnationRecord } from './catalog.ts';
import type { Moment } from './snapshot.ts';
import { bytes, concat, fragment, withLiterals, type SqlFragment } from './sql.ts';

/** The object, or no row when there is none or the user may not see it; and what state of the index was seen. */
export interface PointRead {
  readonly moment: Moment;
  readonly rows: readonly RowRead[];
}

/**
 * Where an object is looked up: its incarnation (a cluster from its creation until it is recreated), and the number of
 * its type.
 */
interface Place {
  readonly incarnation: IncarnationRecord;
  readonly t: number;
}

/**
 * Looks up an object. Undefined when the question must be answered in a transaction, as other questions are: the
 * catalog is outdated, the cluster has several incarnations or none that the user may see, or several objects have the
 * name.
 */
export async function readPoint(
  database: Pick<Database, 'reading' | 'schema'>,
  catalog: Catalog,
  point: Point,
  scope: RowScope,
): Promise<PointRead | undefined> {
  const place = placeOf(catalog, point, scope);
  if (place === undefined) return undefined;
  const text = copyOf(withLiterals(statement(database.schema, place, point)));
  const { copied } = await database.reading(({ runAlone }) => runAlone(text));
  const [first, ...others] = copied;
  if (first === undefined || others.length > 0 || numberAt(first, 2) !== catalog.version) return undefined;
  const moment = { sequence: numberAt(first, 0), rights: numberAt(first, 1), trimmed: numberAt(first, 3) };
  return { moment, rows: rowsOf(first, place.incarnation, point, scope) };
}

function placeOf(catalog: Catalog, { type, cluster }: Point, { grants }: RowScope): Place | undefined {
  const t = catalog.types.get(type);
  if (t === undefined) return undefined;
  const records = catalog.byCluster.get(cluster) ?? [];
  const seen = records.filter(({ id }) => grants.get(id)?.has(type) === true);
  return seen.length === 1 ? { incarnation: seen[0]!, t } : undefined;
}

/** The statement always gives a row: without an object, its columns are NULL. */
function statement(schema: string, { incarnation, t }: Place, { namespace, name }: Point): SqlFragment {
  const { number, shard } = incarnation;
  const inNamespace = namespace === undefined ? fragment('') : fragment('AND o.namespace = ?::bytea', bytes(namespace));
  return concat(
    fragment(`SELECT q.last, q.rights, q.catalog, s.trimmed, o.namespace, o.uid, b.raw
      FROM ${schema}.sequencer q CROSS JOIN ${schema}.store s LEFT JOIN (SELECT o.id, o.shard, o.namespace, o.uid`),
    fragment(`FROM ${schema}.obj o WHERE o.t = ? AND o.shard = ?::int2 AND o.inc = ?`, t, shard, number),
    inNamespace,
    fragment('AND o.name = ?::bytea LIMIT 2) o ON true', bytes(name)),
    fragment(`LEFT JOIN ${schema}.body b ON b.shard = ?::int2 AND b.shard = o.shard AND b.id = o.id`, shard),
    fragment('WHERE q.one AND s.one'),
  );
}

function numberAt(row: CopyRow, column: number): number {
  return Number(row[column]!.readBigInt64BE());
}

function rowsOf(
  row: CopyRow,
  { id: incarnation, cluster }: IncarnationRecord,
  { type, name }: Point,
  { grants }: RowScope,
): readonly RowRead[] {
  const [, , , , place, uid, raw] = row;
  if (raw === undefined) return [];
  const namespace = place!.toString();
  const isSeen = grantAllows(grants.get(incarnation)!.get(type)!, namespace, name);
  return isSeen ? [{ type, cluster, incarnation, namespace, name, uid: uid!.toString(), raw }] : [];
}
