// Statements that write rows and their bodies, each for all rows of a transaction, with rows as arrays of their columns.
// Rows that exist are found by their primary key whatever the planner believes of the tables (byIndexOnly).
import type { ClientBase } from 'pg';

import { byteas, int2s, int4s, int8s, texts } from './arrays.ts';
import { copyIn, int2, int4, int8, type Field } from './copy-in.ts';
import { distinctShards, targetArrays } from './find.ts';
import type { Statement } from './pipeline.ts';
import { arrayText } from './terms.ts';
import type { BodyRow, ObjectRow, WriteSet } from './write-set.ts';

/** From so many new rows on, COPY is faster than its three round trips are slow. */
const leastCopied = 64;
/** Bodies of one statement: the server keeps them in its work_mem, of which it has 4 MiB if nobody asked for another. */
const bytesAtOnce = 2 << 20;

interface Key {
  readonly shard: number;
  readonly id: number;
}

/** Copies the bodies of rows that will change or go into the log. @param beforeAt of all of them */
export function keepBodies({ before }: WriteSet, beforeAt: number): readonly Statement[] {
  if (before.length === 0) return [];
  const text = `INSERT INTO change_body (before_at, id, shard, raw) SELECT $4::int8, b.id, b.shard, b.raw
    FROM unnest($2::int2[], $3::int8[]) AS k (shard, id) JOIN body b ON b.shard = k.shard AND b.id = k.id
    WHERE b.shard = ANY($1::int2[])`;
  return [{ text, values: [...keyArrays(before), String(beforeAt)] }];
}

export function deleteRows({ gone }: WriteSet): readonly Statement[] {
  if (gone.length === 0) return [];
  const values = keyArrays(gone);
  return ['obj', 'body'].map((table) => ({
    text: `DELETE FROM ${table} o USING unnest($2::int2[], $3::int8[]) AS k (shard, id)
      WHERE o.shard = ANY($1::int2[]) AND o.shard = k.shard AND o.id = k.id`,
    values,
  }));
}

/** New rows that are so many that they are copied; the others are left to {@link writeRows}. */
export async function copyRows(client: ClientBase, { objects, bodies }: WriteSet): Promise<void> {
  const newObjects = objects.filter(({ isNew }) => isNew);
  if (newObjects.length < leastCopied) return;
  const newBodies = bodies.filter(({ isNew }) => isNew);
  await copyIn(client, `obj (${objectColumns})`, newObjects.map(objectFields));
  await copyIn(client, `body (id, shard, raw)`, newBodies.map(bodyFields));
}

export function hasRowsToCopy({ objects }: WriteSet): boolean {
  let count = 0;
  for (const { isNew } of objects) if (isNew && ++count === leastCopied) return true;
  return false;
}

export function writeRows(set: WriteSet): readonly Statement[] {
  const isCopied = hasRowsToCopy(set);
  const { true: newObjects = [], false: objects = [] } = Object.groupBy(set.objects, ({ isNew }) => `${isNew}`);
  const { true: newBodies = [], false: bodies = [] } = Object.groupBy(set.bodies, ({ isNew }) => `${isNew}`);
  return [
    ...(isCopied || newObjects.length === 0 ? [] : [insertObjects(newObjects)]),
    ...(objects.length === 0 ? [] : [updateObjects(objects)]),
    ...(isCopied ? [] : pieces(newBodies).map(insertBodies)),
    ...pieces(bodies).map(updateBodies),
  ];
}

const objectColumns = 'id, created, t, inc, bytes, shard, namespace, name, fold, uid, owner, rv, digest, terms';

function insertObjects(rows: readonly ObjectRow[]): Statement {
  const [shards, incs, types] = targetArrays(rows.map(({ target }) => target));
  return {
    text: `INSERT INTO obj (${objectColumns})
      SELECT id, created, t, inc, bytes, shard, namespace, name, fold, uid, owner, rv, digest, terms::int8[]
      FROM unnest($1::int8[], $2::int8[], $3::int4[], $4::int4[], $5::int4[], $6::int2[], $7::bytea[], $8::bytea[],
        $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[], $14::text[]) AS k (${objectColumns})`,
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

/** Columns of an index that stay the same let the row stay in its page, and the indexes are left alone (HOT). */
function updateObjects(rows: readonly ObjectRow[]): Statement {
  return {
    text: `UPDATE obj o SET created = k.created, bytes = k.bytes, owner = k.owner, rv = k.rv, digest = k.digest,
        terms = coalesce(k.terms::int8[], o.terms)
      FROM unnest($2::int2[], $3::int8[], $4::int8[], $5::int4[], $6::bytea[], $7::bytea[], $8::bytea[], $9::text[])
        AS k (shard, id, created, bytes, owner, rv, digest, terms)
      WHERE o.shard = ANY($1::int2[]) AND o.shard = k.shard AND o.id = k.id`,
    values: [
      ...keyArrays(rows.map(({ target: { shard }, id }) => ({ shard, id }))),
      int8s(rows.map(({ created }) => created)),
      int4s(rows.map(({ bytes }) => bytes)),
      ...(['owner', 'rv', 'digest'] as const).map((column) => byteas(rows.map((row) => row[column]))),
      texts(rows.map(({ terms, hasSameTerms }) => (hasSameTerms ? null : arrayText(terms)))),
    ],
  };
}

function insertBodies(rows: readonly BodyRow[]): Statement {
  const [, shards, ids] = keyArrays(rows);
  return {
    text: `INSERT INTO body (shard, id, raw) SELECT * FROM unnest($1::int2[], $2::int8[], $3::bytea[])`,
    values: [shards!, ids!, byteas(rows.map(({ raw }) => raw))],
  };
}

function updateBodies(rows: readonly BodyRow[]): Statement {
  return {
    text: `UPDATE body b SET raw = k.raw FROM unnest($2::int2[], $3::int8[], $4::bytea[]) AS k (shard, id, raw)
      WHERE b.shard = ANY($1::int2[]) AND b.shard = k.shard AND b.id = k.id`,
    values: [...keyArrays(rows), byteas(rows.map(({ raw }) => raw))],
  };
}

/** Their shards without repetitions, then columns shard and id. */
function keyArrays(rows: readonly Key[]): readonly Buffer[] {
  return [distinctShards(rows), int2s(rows.map(({ shard }) => shard)), int8s(rows.map(({ id }) => id))];
}

function objectFields(row: ObjectRow): readonly Field[] {
  const { target, id, created, bytes, namespace, name, fold, uid, owner, rv, digest, terms } = row;
  const numbers = [int8(id), int8(created), int4(target.t), int4(target.inc), int4(bytes), int2(target.shard)];
  return [...numbers, namespace, name, fold, uid, owner, rv, digest, int8s(terms)];
}

function bodyFields({ id, shard, raw }: BodyRow): readonly Field[] {
  return [int8(id), int2(shard), raw];
}

/** The rows in pieces that one statement can hold. */
function pieces(rows: readonly BodyRow[]): readonly (readonly BodyRow[])[] {
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
