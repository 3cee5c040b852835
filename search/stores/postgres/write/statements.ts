// The SQL statements of a write, each for all rows of a transaction. Existing rows are updated by INSERT … ON CONFLICT
// on their id: that uses the primary key whatever the planner's statistics say. Many new rows are written by COPY.
import type { ClientBase } from 'pg';

import { copyIn, int2, int4, int8, int8Array, type Field } from './copy-in.ts';
import { arrayText } from './terms.ts';
import {
  folded,
  type BodyRow,
  type FoundRow,
  type NamespaceCount,
  type ObjectRow,
  type Target,
  type TermCount,
  type WriteSet,
} from './write-set.ts';

/** With at least this many new rows, COPY is faster despite its three round trips. */
const leastCopied = 64;
/** Rows of one INSERT. A statement can have at most 65,535 parameters. */
const rowsAtOnce = 500;
const bytesAtOnce = 8 << 20;

/** The key of a row to look up. */
export interface SoughtKey {
  readonly target: Target;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Rows as they are stored now. `atUs` is the server's time when they were read, in microseconds; 0 when none was found.
 */
export interface Found {
  readonly rows: ReadonlyMap<number, FoundRow>;
  readonly atUs: number;
}

/**
 * SQL for the server's time in microseconds, but never earlier than the last change, in case the clock was set back.
 */
export const nowUs = `(SELECT greatest(last, (extract(epoch FROM statement_timestamp()) * 1000000)::int8)
  FROM sequencer WHERE one)`;

/** Looks up rows by their keys. The map's keys are positions in `keys`. */
export async function findRows(client: ClientBase, keys: readonly SoughtKey[]): Promise<Found> {
  if (keys.length === 0) return { rows: new Map(), atUs: 0 };
  const { rows } = await client.query<[number, number, Buffer, Buffer, Buffer, number, string, number]>({
    text: `SELECT k.at, o.id, o.uid, o.rv, o.digest, o.bytes, o.terms::text, ${nowUs}
      FROM unnest($1::int2[], $2::int4[], $3::int4[], $4::bytea[], $5::bytea[]) WITH ORDINALITY
        AS k (shard, inc, t, namespace, name, at)
      JOIN obj o ON o.shard = k.shard AND o.inc = k.inc AND o.t = k.t AND o.namespace = k.namespace AND o.name = k.name`,
    values: [
      keys.map(({ target }) => target.shard),
      keys.map(({ target }) => target.inc),
      keys.map(({ target }) => target.t),
      keys.map(({ namespace }) => Buffer.from(namespace)),
      keys.map(({ name }) => Buffer.from(name)),
    ],
    rowMode: 'array',
  });
  return {
    rows: new Map(
      rows.map(([at, id, uid, rv, digest, bytes, terms]) => [at - 1, { id, uid, rv, digest, bytes, terms }]),
    ),
    atUs: rows[0]?.[7] ?? 0,
  };
}

/** Copies bodies that are about to change into the log. @param beforeAt the time under which they are stored */
export async function keepBodies(client: ClientBase, { before }: WriteSet, beforeAt: number): Promise<void> {
  for (const [shard, rows] of Map.groupBy(before, (row) => row.shard)) {
    await client.query(
      'INSERT INTO change_body (before_at, id, shard, raw) SELECT $1, id, shard, raw FROM body WHERE shard = $2 AND id = ANY($3)',
      [beforeAt, shard, rows.map(({ id }) => id)],
    );
  }
}

export async function deleteRows(client: ClientBase, { gone }: WriteSet): Promise<void> {
  for (const [shard, rows] of Map.groupBy(gone, (row) => row.shard)) {
    const ids = rows.map(({ id }) => id);
    for (const table of ['obj', 'body']) {
      await client.query(`DELETE FROM ${table} WHERE shard = $1 AND id = ANY($2)`, [shard, ids]);
    }
  }
}

export async function writeRows(client: ClientBase, { objects, bodies }: WriteSet): Promise<void> {
  const [newObjects, otherObjects] = dividedRows(objects);
  const [newBodies, otherBodies] = dividedRows(bodies);
  if (newObjects.length > 0) await copyIn(client, `obj (${objectColumns})`, newObjects.map(objectFields));
  if (newBodies.length > 0) await copyIn(client, `body (${bodyColumns})`, newBodies.map(bodyFields));
  for (const some of pieces(otherObjects, () => 0)) {
    await client.query(
      `INSERT INTO obj (${objectColumns}) VALUES ${placeholders(some.length, objectTypes)} ON CONFLICT (shard, id) DO UPDATE
      SET created = excluded.created, bytes = excluded.bytes, owner = excluded.owner, rv = excluded.rv,
        digest = excluded.digest, terms = excluded.terms`,
      some.flatMap(objectValues),
    );
  }
  for (const some of pieces(otherBodies, ({ raw }) => raw.byteLength)) {
    await client.query(
      `INSERT INTO body (${bodyColumns}) VALUES ${placeholders(some.length, bodyTypes)}
      ON CONFLICT (shard, id) DO UPDATE SET raw = excluded.raw`,
      some.flatMap(({ id, shard, raw }) => [id, shard, raw]),
    );
  }
}

/**
 * Updates the counters of rows by namespace. A counter stays at 0 when its last object is gone, so that the namespace
 * remains known.
 */
export async function countRows(client: ClientBase, { counts }: WriteSet): Promise<void> {
  const changed = [...counts.values()].filter(({ n }) => n !== 0).sort(byNamespace);
  if (changed.length === 0) return;
  await client.query(
    `INSERT INTO counter (shard, inc, t, namespace, n)
    SELECT * FROM unnest($1::int2[], $2::int4[], $3::int4[], $4::bytea[], $5::int8[])
    ON CONFLICT (shard, inc, t, namespace) DO UPDATE SET n = counter.n + excluded.n`,
    [...targetArrays(changed), changed.map(({ namespace }) => namespace), changed.map(({ n }) => n)],
  );
}

export async function countTerms(client: ClientBase, { terms }: WriteSet): Promise<void> {
  const changed = [...terms.values()].filter(({ n }) => n !== 0).sort(byTerm);
  const gained = changed.filter((count): count is Required<TermCount> => count.n > 0 && count.term !== undefined);
  if (gained.length > 0) {
    await client.query(
      `INSERT INTO term (shard, t, id, n, path, value, path_fold, value_fold)
      SELECT * FROM unnest($1::int2[], $2::int4[], $3::int8[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
      ON CONFLICT (shard, id) DO UPDATE SET n = term.n + excluded.n`,
      [
        gained.map(({ shard }) => shard),
        gained.map(({ t }) => t),
        gained.map(({ id }) => String(id)),
        gained.map(({ n }) => n),
        gained.map(({ term }) => Buffer.from(term.path)),
        gained.map(({ term }) => Buffer.from(term.value)),
        gained.map(({ term }) => folded(term.path)),
        gained.map(({ term }) => folded(term.value)),
      ],
    );
  }
  const lost = Map.groupBy(
    changed.filter(({ n }) => n < 0),
    ({ shard }) => shard,
  );
  for (const [shard, some] of lost) await loseTerms(client, shard, some);
}

async function loseTerms(client: ClientBase, shard: number, some: readonly TermCount[]): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    `UPDATE term SET n = term.n + l.n FROM unnest($2::int8[], $3::int8[]) AS l (id, n)
    WHERE term.shard = $1 AND term.id = l.id RETURNING CASE WHEN term.n <= 0 THEN term.id::text END AS id`,
    [shard, some.map(({ id }) => String(id)), some.map(({ n }) => n)],
  );
  const unused = rows.flatMap(({ id }) => id ?? []);
  if (unused.length > 0)
    await client.query('DELETE FROM term WHERE shard = $1 AND id = ANY($2::int8[])', [shard, unused]);
}

/**
 * Writes the `follow` rows of types.
 * @returns whether the catalog has changed: a type is new or described differently, or the first complete list of it
 *   was stored or lost
 */
export async function writeFollows(client: ClientBase, { follows }: WriteSet): Promise<boolean> {
  const changes = [...follows.values()];
  if (changes.length === 0) return false;
  const { rows } = await client.query<{ info: string; version: string; old_info: string | null; old_version: string }>(
    `WITH v AS (
      SELECT v.*, f.info AS old_info, f.version AS old_version
      FROM unnest($1::int2[], $2::int4[], $3::int4[], $4::text[], $5::text[], $6::int8[], $7::int8[], $8::int8[],
        $9::text[]) AS v (shard, inc, t, info, version, confirmed, objects, bytes, resume)
      LEFT JOIN follow f ON f.shard = v.shard AND f.inc = v.inc AND f.t = v.t
    ), written AS (
      INSERT INTO follow (shard, inc, t, info, version, confirmed, objects, bytes, resume)
      SELECT v.shard, v.inc, v.t, v.info, coalesce(v.version, v.old_version, ''), coalesce(v.confirmed, f.confirmed, 0),
        v.objects, v.bytes, coalesce(v.resume, f.resume, '') FROM v LEFT JOIN follow f ON f.shard = v.shard AND f.inc = v.inc AND f.t = v.t
      ON CONFLICT (shard, inc, t) DO UPDATE SET info = excluded.info, version = excluded.version,
        confirmed = excluded.confirmed, objects = follow.objects + excluded.objects, bytes = follow.bytes + excluded.bytes,
        resume = excluded.resume
    )
    SELECT v.info, coalesce(v.version, v.old_version, '') AS version, v.old_info, v.old_version FROM v`,
    [
      ...targetArrays(changes),
      changes.map(({ info }) => info),
      changes.map(({ version }) => version),
      changes.map(({ confirmedMs }) => confirmedMs),
      changes.map(({ objects }) => objects),
      changes.map(({ bytes }) => bytes),
      changes.map(({ resume }) => resume),
    ],
  );
  return rows.some(
    ({ info, version, old_info, old_version }) => info !== old_info || (version === '') !== (old_version === ''),
  );
}

function targetArrays(rows: readonly { readonly target: Target }[]): readonly (readonly number[])[] {
  return [
    rows.map(({ target }) => target.shard),
    rows.map(({ target }) => target.inc),
    rows.map(({ target }) => target.t),
  ];
}

const objectColumns = 'id, created, t, inc, bytes, shard, namespace, name, fold, uid, owner, rv, digest, terms';
const objectTypes = ['int8', 'int8', 'int4', 'int4', 'int4', 'int2', ...Array<string>(7).fill('bytea'), 'int8[]'];
const bodyColumns = 'id, shard, raw';
const bodyTypes = ['int8', 'int2', 'bytea'];

function objectValues(row: ObjectRow): unknown[] {
  const { target, id, created, bytes, namespace, name, fold, uid, owner, rv, digest, terms } = row;
  const numbers = [id, created, target.t, target.inc, bytes, target.shard];
  return [...numbers, namespace, name, fold, uid, owner, rv, digest, arrayText(terms)];
}

function objectFields(row: ObjectRow): readonly Field[] {
  const { target, id, created, bytes, namespace, name, fold, uid, owner, rv, digest, terms } = row;
  const numbers = [int8(id), int8(created), int4(target.t), int4(target.inc), int4(bytes), int2(target.shard)];
  return [...numbers, namespace, name, fold, uid, owner, rv, digest, int8Array(terms)];
}

function bodyFields({ id, shard, raw }: BodyRow): readonly Field[] {
  return [int8(id), int2(shard), raw];
}

/** Splits into rows for COPY and all others. There is nothing for COPY when too few rows are new. */
function dividedRows<Row extends { readonly isNew: boolean }>(
  rows: readonly Row[],
): readonly [readonly Row[], readonly Row[]] {
  const fresh = rows.filter(({ isNew }) => isNew);
  return fresh.length < leastCopied ? [[], rows] : [fresh, rows.filter(({ isNew }) => !isNew)];
}

function placeholders(rows: number, types: readonly string[]): string {
  let number = 0;
  const row = (): string => `(${types.map((type) => `$${++number}::${type}`).join()})`;
  return Array.from({ length: rows }, row).join();
}

/** Splits the rows into groups that fit into one statement. */
function* pieces<Row>(rows: readonly Row[], bytesOf: (row: Row) => number): Iterable<readonly Row[]> {
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    piece.push(row);
    bytes += bytesOf(row);
    if (piece.length < rowsAtOnce && bytes < bytesAtOnce) continue;
    yield piece;
    piece = [];
    bytes = 0;
  }
  if (piece.length > 0) yield piece;
}

/** All writers update rows in the same order. With different orders, two writers of one shard could deadlock. */
function byNamespace(one: NamespaceCount, other: NamespaceCount): number {
  return one.target.inc - other.target.inc || one.target.t - other.target.t || one.namespace.compare(other.namespace);
}

function byTerm(one: TermCount, other: TermCount): number {
  return one.shard - other.shard || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}
