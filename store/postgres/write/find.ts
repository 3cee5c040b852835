// Reads what a write must know before its changes can be computed: the rows as they are stored now, and up to which
// resourceVersion their types were copied.
import type { ClientBase } from 'pg';

import { byteas, int2s, int4s } from './arrays.ts';
import { bytesOf, run, type Statement, type TextRow } from './pipeline.ts';
import { followKey, type FollowedType, type FoundRow, type Target } from './write-set.ts';

/** Which row to look up: its type in an incarnation (`target`), namespace and name. */
export interface SoughtKey {
  readonly target: Target;
  readonly namespace: string;
  readonly name: string;
}

export interface Found {
  /** The rows that exist. A key of the map is the position of the row's key in the list that was searched. */
  readonly rows: ReadonlyMap<number, FoundRow>;
  /**
   * The rows of table `follow` (how far a type of a cluster was copied), by {@link followKey}. Types that were never
   * copied are missing.
   */
  readonly follows: ReadonlyMap<string, FollowedType>;
  /** The server's time when the rows were read, in microseconds since 1970; 0 when no row was found. */
  readonly atUs: number;
}

/**
 * SQL for the server's time in microseconds since 1970, but never earlier than the last change, in case the clock was
 * set back.
 */
export const nowUs = `(SELECT greatest(last, (extract(epoch FROM statement_timestamp()) * 1000000)::int8)
  FROM sequencer WHERE one)`;

/**
 * Looks up rows by their keys, and the rows of table `follow` (up to where a type of a cluster was copied) for their
 * types.
 */
export async function find(client: ClientBase, keys: readonly SoughtKey[], targets: readonly Target[]): Promise<Found> {
  const [follows, rows = []] = await run(client, [findFollows(targets), ...(keys.length > 0 ? [findRows(keys)] : [])]);
  return {
    rows: new Map(rows.map((row) => [Number(row[0]) - 1, foundRow(row)])),
    follows: new Map(
      follows!.map(([inc, t, info, version, confirmed, resume]) => [
        followKey({ inc: Number(inc), t: Number(t) }),
        { info: info!, version: version!, confirmedMs: Number(confirmed), resume: resume! },
      ]),
    ),
    atUs: Number(rows[0]?.[7] ?? 0),
  };
}

/**
 * The shards of rows, each once, as an array for `= ANY`. With such a condition the planner considers only the
 * partitions of these shards, which makes planning several times as fast.
 */
export function distinctShards(rows: readonly { readonly shard: number }[]): Buffer {
  return int2s([...new Set(rows.map(({ shard }) => shard))]);
}

// LATERAL with LIMIT makes PostgreSQL search the index once for each key. For a join it may read whole tables, because
// it takes tables that were not analyzed yet for empty ones.

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
    text: `SELECT f.inc, f.t, f.info, f.version, f.confirmed, f.resume
      FROM unnest($1::int2[], $2::int4[], $3::int4[]) AS k (shard, inc, t)
      CROSS JOIN LATERAL (
        SELECT * FROM follow f WHERE f.shard = k.shard AND f.inc = k.inc AND f.t = k.t LIMIT 1
      ) AS f`,
    values: targetArrays(targets),
  };
}

/** The columns shard, inc and t of some targets, as one array each. */
export function targetArrays(targets: readonly Target[]): readonly Buffer[] {
  return [
    int2s(targets.map(({ shard }) => shard)),
    int4s(targets.map(({ inc }) => inc)),
    int4s(targets.map(({ t }) => t)),
  ];
}
