// Statements that write rows and their bodies (the JSON of the objects). Each is for all rows of a transaction, with an
// array for each column. Existing rows are updated by INSERT … ON CONFLICT on their id, because that uses the primary
// key whatever the planner's statistics say. Many new rows are written by COPY.
import type { ClientBase } from 'pg';

import { byteas, int2s, int4s, int8s, texts } from './arrays.ts';
import { copyIn, int2, int4, int8, type Field } from './copy-in.ts';
import { distinctShards, targetArrays } from './find.ts';
import type { Statement } from './pipeline.ts';
import { arrayText } from './terms.ts';
import type { BodyRow, ObjectRow, WriteSet } from './write-set.ts';

/** From this number of new rows on, COPY is faster, although it takes three round trips. */
const leastCopied = 64;
/** The most bytes of bodies in one statement. The server holds them in its work_mem, which is 4 MiB by default. */
const bytesAtOnce = 2 << 20;

interface Key {
  readonly shard: number;
  readonly id: number;
}

/**
 * Copies bodies that are about to change into the log.
 * @param beforeAt time in microseconds under which to store them
 */
export function keepBodies({ before }: WriteSet, beforeAt: number): readonly Statement[] {
  if (before.length === 0) return [];
  const text = `INSERT INTO change_body (before_at, id, shard, raw) SELECT $4::int8, k.id, k.shard, b.raw
    FROM unnest($2::int2[], $3::int8[]) AS k (shard, id)
    CROSS JOIN LATERAL (
      SELECT raw FROM body WHERE shard = ANY($1::int2[]) AND shard = k.shard AND id = k.id LIMIT 1
    ) AS b`;
  return [{ text, values: [distinctShards(before), ...keyArrays(before), String(beforeAt)] }];
}

export function deleteRows({ gone }: WriteSet): readonly Statement[] {
  return [...Map.groupBy(gone, ({ shard }) => shard)].flatMap(([shard, rows]) =>
    ['obj', 'body'].map((table) => ({
      text: `DELETE FROM ${table} WHERE shard = $1::int2 AND id = ANY($2::int8[])`,
      values: [String(shard), int8s(rows.map(({ id }) => id))],
    })),
  );
}

/** Writes the new rows by COPY when there are many of them. {@link writeRows} writes the other rows. */
export async function copyNewRows(client: ClientBase, { objects, bodies }: WriteSet): Promise<void> {
  const newObjects = objects.filter(({ isNew }) => isNew);
  if (newObjects.length < leastCopied) return;
  const newBodies = bodies.filter(({ isNew }) => isNew);
  await copyIn(client, `obj (${objectColumns})`, newObjects.map(objectFields));
  await copyIn(client, `body (id, shard, raw)`, newBodies.map(bodyFields));
}

/** Whether there are enough new rows for COPY. */
export function hasRowsToCopy({ objects }: WriteSet): boolean {
  let count = 0;
  for (const { isNew } of objects) if (isNew && ++count === leastCopied) return true;
  return false;
}

export function writeRows(set: WriteSet): readonly Statement[] {
  const isLeft = hasRowsToCopy(set) ? ({ isNew }: { readonly isNew: boolean }) => !isNew : () => true;
  const objects = set.objects.filter(isLeft);
  return [
    ...(objects.length === 0 ? [] : [writeObjects(objects)]),
    ...fragments(set.bodies.filter(isLeft)).map(writeBodies),
  ];
}

const objectColumns = 'id, created, t, inc, bytes, shard, namespace, name, fold, uid, owner, rv, digest, terms';

/**
 * An update that changes no indexed column stays in the row's page if the page has room, and then changes no index (a
 * heap-only tuple).
 */
function writeObjects(rows: readonly ObjectRow[]): Statement {
  const [shards, incs, types] = targetArrays(rows.map(({ target }) => target));
  return {
    text: `INSERT INTO obj (${objectColumns})
      SELECT id, created, t, inc, bytes, shard, namespace, name, fold, uid, owner, rv, digest, terms::int8[]
      FROM unnest($1::int8[], $2::int8[], $3::int4[], $4::int4[], $5::int4[], $6::int2[], $7::bytea[], $8::bytea[],
        $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::text[]) AS k (${objectColumns})
      ON CONFLICT (shard, id) DO UPDATE SET created = excluded.created, bytes = excluded.bytes, owner = excluded.owner,
        rv = excluded.rv, digest = excluded.digest, terms = excluded.terms`,
    values: [
      int8s(rows.map(({ id }) => id)),
      int8s(rows.map(({ created }) => created)),
      ...[types!, incs!],
      int4s(rows.map(({ bytes }) => bytes)),
      shards!,
      ...(['namespace', 'name', 'fold', 'uid', 'owner', 'rv', 'digest'] as const).map((column) =>
        byteas(rows.map((row) => row[column])),
      ),
      texts(rows.map(({ terms }) => arrayText(terms))),
    ],
  };
}

function writeBodies(rows: readonly BodyRow[]): Statement {
  return {
    text: `INSERT INTO body (shard, id, raw) SELECT * FROM unnest($1::int2[], $2::int8[], $3::bytea[])
      ON CONFLICT (shard, id) DO UPDATE SET raw = excluded.raw`,
    values: [...keyArrays(rows), byteas(rows.map(({ raw }) => raw))],
  };
}

/** The columns shard and id of some rows, as one array each. */
function keyArrays(rows: readonly Key[]): readonly Buffer[] {
  return [int2s(rows.map(({ shard }) => shard)), int8s(rows.map(({ id }) => id))];
}

function objectFields(row: ObjectRow): readonly Field[] {
  const { target, id, created, bytes, namespace, name, fold, uid, owner, rv, digest, terms } = row;
  const numbers = [int8(id), int8(created), int4(target.t), int4(target.inc), int4(bytes), int2(target.shard)];
  return [...numbers, namespace, name, fold, uid, owner, rv, digest, int8s(terms)];
}

function bodyFields({ id, shard, raw }: BodyRow): readonly Field[] {
  return [int8(id), int2(shard), raw];
}

/** Splits rows into groups, each for one statement, by the size of their bodies. */
function fragments(rows: readonly BodyRow[]): readonly (readonly BodyRow[])[] {
  const all: BodyRow[][] = [];
  let left = 0;
  for (const row of rows) {
    if (left <= 0) {
      all.push([]);
      left = bytesAtOnce;
    }
    all.at(-1)!.push(row);
    left -= row.raw.byteLength;
  }
  return all;
}
