// What a write must know before it is worked out: the rows as they are, and what is known of their types.
import type { ClientBase } from 'pg';

import { byteas, int2s, int4s } from './arrays.ts';
import { bytesOf, run, type Statement, type TextRow } from './pipeline.ts';
import { followKey, type FollowedType, type FoundRow, type Target } from './write-set.ts';

/** A row that is looked for. */
export interface SoughtKey {
  readonly target: Target;
  readonly namespace: string;
  readonly name: string;
}

export interface Found {
  /** Rows that are there, by the position of their key. */
  readonly rows: ReadonlyMap<number, FoundRow>;
  /** By {@link followKey}; types that were never followed are missing. */
  readonly follows: ReadonlyMap<string, FollowedType>;
  /** When the rows were read: microseconds of the server, 0 when there are none. */
  readonly atUs: number;
}

/** Microseconds of the server's clock, or the last change, should the clock have been set back behind it. */
export const nowUs = `(SELECT greatest(last, (extract(epoch FROM statement_timestamp()) * 1000000)::int8)
  FROM sequencer WHERE one)`;

/** Reads the rows of some keys and what is known of some types. */
export async function find(client: ClientBase, keys: readonly SoughtKey[], targets: readonly Target[]): Promise<Found> {
  const [follows, rows = []] = await run(client, [findFollows(targets), ...(keys.length > 0 ? [findRows(keys)] : [])]);
  return {
    rows: new Map(rows.map((row) => [Number(row[0]) - 1, foundRow(row)])),
    follows: new Map(
      follows!.map(([inc, t, info, version, confirmed]) => [
        followKey({ inc: Number(inc), t: Number(t) }),
        { info: info!, version: version!, confirmedMs: Number(confirmed) },
      ]),
    ),
    atUs: Number(rows[0]?.[7] ?? 0),
  };
}

/**
 * Shards without repetitions, to compare with by `= ANY`: the planner then looks at their partitions only, which makes
 * planning several times shorter.
 */
export function distinctShards(rows: readonly { readonly shard: number }[]): Buffer {
  return int2s([...new Set(rows.map(({ shard }) => shard))]);
}

// LIMIT in LATERAL: one look into the index for each key, even when the planner believes that the table is empty.

function findRows(keys: readonly SoughtKey[]): Statement {
  const targets = keys.map(({ target }) => target);
  return {
    text: `SELECT k.at, o.id, o.uid, o.rv, o.digest, o.bytes, o.terms, ${nowUs}
      FROM unnest($2::int2[], $3::int4[], $4::int4[], $5::bytea[], $6::bytea[]) WITH ORDINALITY
        AS k (shard, inc, t, namespace, name, at)
      CROSS JOIN LATERAL (
        SELECT * FROM obj o WHERE o.shard = ANY($1::int2[]) AND o.shard = k.shard AND o.inc = k.inc AND o.t = k.t
          AND o.namespace = k.namespace AND o.name = k.name
        LIMIT 1
      ) AS o`,
    values: [
      distinctShards(targets),
      ...targetArrays(targets),
      byteas(keys.map(({ namespace }) => Buffer.from(namespace))),
      byteas(keys.map(({ name }) => Buffer.from(name))),
    ],
  };
}

function foundRow([, id, uid, rv, digest, bytes, terms]: TextRow): FoundRow {
  return {
    id: Number(id),
    uid: bytesOf(uid!),
    rv: bytesOf(rv!),
    digest: bytesOf(digest!),
    bytes: Number(bytes),
    terms: terms!,
  };
}

function findFollows(targets: readonly Target[]): Statement {
  return {
    text: `SELECT f.inc, f.t, f.info, f.version, f.confirmed FROM unnest($1::int2[], $2::int4[], $3::int4[]) AS k (shard, inc, t)
      CROSS JOIN LATERAL (
        SELECT * FROM follow f WHERE f.shard = k.shard AND f.inc = k.inc AND f.t = k.t LIMIT 1
      ) AS f`,
    values: targetArrays(targets),
  };
}

/** Columns shard, inc and t. */
export function targetArrays(targets: readonly Target[]): readonly Buffer[] {
  return [
    int2s(targets.map(({ shard }) => shard)),
    int4s(targets.map(({ inc }) => inc)),
    int4s(targets.map(({ t }) => t)),
  ];
}
