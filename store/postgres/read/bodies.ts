// Reads the bodies (the JSON of the objects) of a page in chunks, each in its own transaction, as they were when the
// page's keys were read. A row that has changed since is read from the change log. So a list, and a watch from the
// list's resourceVersion, together show every change exactly once.
import type { RowRead } from '../../store.ts';
import { changeKind } from '../connection/schema.ts';
import type { CopyRow } from '../connection/script.ts';
import type { FoundRow } from './key-order.ts';
import type { Snapshot } from './snapshot.ts';
import { fragment } from './sql.ts';

/** Ids of rows and, in the same order, the numbers of the incarnations to which the rows belong. */
interface RowIds {
  readonly ids: Float64Array;
  readonly incs: Int32Array;
}

/** The rows of a page in order, with the lengths of their bodies when the page's keys were read. */
export interface PageRows extends RowIds {
  readonly bytes: Int32Array;
}

/**
 * Some rows of a page. `done` is the number of ids that they cover; it can be larger than the number of rows, because
 * deleted rows are left out.
 */
export interface BodyChunk {
  readonly rows: readonly RowRead[];
  readonly done: number;
}

/** A chunk of rows ends with the row with which its bodies reach this number of bytes. */
export const chunkBytes = 1 << 20;
const chunkRows = 1000;

/** Reads the bodies of rows as they are now. Returns them by row id. */
export async function readRaw(
  snapshot: Snapshot,
  rows: readonly Pick<FoundRow, 'id' | 'slot'>[],
): Promise<ReadonlyMap<number, Buffer>> {
  if (rows.length === 0) return new Map();
  const ids = Float64Array.from(rows, ({ id }) => id);
  const incs = Int32Array.from(rows, ({ slot }) => slot.incarnation.number);
  const list = listed(snapshot, { ids, incs });
  const copied = await snapshot.copied(
    fragment(`SELECT j.id, b.raw FROM ${list.from} CROSS JOIN ${lookUp('body', 'b', list)}`),
  );
  return new Map(copied.map(([id, raw]) => [Number(id!.readBigInt64BE()), raw!]));
}

/**
 * Reads the first chunk of these rows.
 * @param sequence when the page's keys were read: microseconds since 1970
 */
export async function readBodies(snapshot: Snapshot, page: PageRows, sequence: number): Promise<BodyChunk> {
  const done = countOfChunk(page.bytes);
  if (done === 0) return { rows: [], done };
  const list = listed(snapshot, { ids: page.ids.subarray(0, done), incs: page.incs.subarray(0, done) });
  // When the change log no longer reaches back to `sequence`, rows are read as they are now.
  const now = await snapshot.moment();
  const isNow = now.sequence === sequence || now.trimmed > sequence;
  const copied = await snapshot.copied(fragment(isNow ? rowsNow(list) : rowsBefore(list, sequence)));
  return { rows: copied.map((row) => rowRead(snapshot, row)), done };
}

function countOfChunk(lengths: Int32Array): number {
  const most = Math.min(chunkRows, lengths.length);
  let bytes = 0;
  let count = 0;
  while (count < most && bytes < chunkBytes) bytes += lengths[count++]!;
  return count;
}

/** The rows that one statement reads, as fragments of SQL. These are made from numbers only. */
interface ListedRows {
  /**
   * SQL for use after FROM: a table `j(shard, id, place)` with one entry for each row; `place` is the row's position.
   */
  readonly from: string;
  /** SQL for an array of the shards of the listed rows. */
  readonly shards: string;
}

function listed({ catalog }: Snapshot, { ids, incs }: RowIds): ListedRows {
  const shards = Array.from(incs, (inc) => catalog.byNumber.get(inc)!.shard);
  const numbers = (all: Iterable<number>): string => `'{${Array.from(all, wholeNumber).join(',')}}'`;
  // Because of the SELECT around them, the planner does not see how long the arrays are. Otherwise it would choose to
  // read whole tables for a thousand rows.
  const from = `unnest((SELECT ${numbers(shards)}::int2[]), (SELECT ${numbers(ids)}::int8[]))
    WITH ORDINALITY j(shard, id, place)`;
  return { from, shards: `${numbers(new Set(shards))}::int2[]` };
}

/**
 * SQL that looks up the row of each entry of `j` in a table. Planning a join of two partitioned tables takes 6 to 15
 * ms. Looked up like this, only in the partitions of these shards, both tables take 0.2 to 0.6 ms.
 */
function lookUp(table: 'obj' | 'body', as: string, { shards }: ListedRows, condition = 'true'): string {
  return `LATERAL (SELECT * FROM ${table} WHERE ${condition} AND ${table}.shard = ANY(${shards})
    AND ${table}.shard = j.shard AND ${table}.id = j.id LIMIT 1) ${as}`;
}

function wholeNumber(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`no id of a row: ${value}`);
  return String(value);
}

function rowsNow(list: ListedRows): string {
  return `SELECT o.t, o.inc, o.namespace, o.name, o.uid, b.raw FROM ${list.from}
    CROSS JOIN ${lookUp('obj', 'o', list)} CROSS JOIN ${lookUp('body', 'b', list)} ORDER BY j.place`;
}

/**
 * SQL for rows as they were at time `sequence`. For a row that was changed later, its first change after that time has
 * the body. Rows that were added later are left out.
 */
function rowsBefore(list: ListedRows, sequence: number): string {
  const first = `SELECT * FROM change c WHERE c.id = j.id AND c.shard = j.shard AND c.sequence > ${wholeNumber(sequence)}
    ORDER BY c.sequence LIMIT 1`;
  return `SELECT coalesce(c.t, o.t) AS t, coalesce(c.inc, o.inc) AS inc,
      coalesce(c.namespace, o.namespace) AS namespace, coalesce(c.name, o.name) AS name, coalesce(c.uid, o.uid) AS uid,
      CASE WHEN c.id IS NULL THEN b.raw ELSE x.raw END AS raw
    FROM ${list.from} LEFT JOIN LATERAL (${first}) c ON true
    LEFT JOIN ${lookUp('obj', 'o', list, 'c.id IS NULL')} ON true
    LEFT JOIN ${lookUp('body', 'b', list, 'c.id IS NULL')} ON true
    LEFT JOIN change_body x ON x.shard = j.shard AND x.id = j.id AND x.before_at = c.before_at
    WHERE (c.id IS NULL AND b.id IS NOT NULL) OR c.kind <> ${changeKind.added}
    ORDER BY j.place`;
}

function rowRead({ catalog }: Snapshot, row: CopyRow): RowRead {
  const [t, inc, namespace, name, uid, raw] = row as readonly Buffer[];
  const { cluster, id } = catalog.byNumber.get(inc!.readInt32BE())!;
  return {
    type: catalog.typeKeys.get(t!.readInt32BE())!,
    cluster,
    incarnation: id,
    namespace: namespace!.toString(),
    name: name!.toString(),
    uid: uid!.toString(),
    raw: raw!,
  };
}
