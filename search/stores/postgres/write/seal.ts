// The last statement of a write. It checks that each writer still owns its shard and that the
// database has all it has acknowledged, takes numbers for the changes from
// the sequencer, and writes the log. The sequencer's row is locked until the commit is visible, so whoever sees a
// number also sees every change up to it. All values are sent to the server before the lock is taken.
import type { ClientBase } from 'pg';

import type { TypeKey } from '../../../types.ts';
import { FencedError } from '../../fenced-error.ts';
import { isRightsType } from '../../rights-types.ts';
import type { ShardWriter } from '../../store.ts';
import { unavailable } from '../connection/errors.ts';
import { changeKind, clockUs } from '../schema.ts';
import { writerKey, type WriteBounds } from './lease-writes.ts';
import type { LogRow } from './write-set.ts';

/**
 * Some writers of a transaction no longer own their shard. The batches of the other writers can be written without
 * them.
 */
export class ShardsLostError extends FencedError {
  /** The shards that were lost, each as `shard/epoch`. */
  readonly lost: ReadonlySet<string>;

  constructor(lost: ReadonlySet<string>) {
    super(`the lease of ${[...lost].join(', ')} (shard/epoch) is lost`);
    this.lost = lost;
  }
}

export interface Seal {
  readonly writers: readonly (ShardWriter & WriteBounds)[];
  /** The numbers that the transaction has written, with what they stand for. */
  readonly types: ReadonlyMap<number, TypeKey>;
  readonly incarnations: ReadonlyMap<number, string>;
  /** In microseconds: changes get later times than this. */
  readonly afterUs: number;
  readonly log: readonly LogRow[];
  /** In microseconds: the time under which the bodies from before these changes were stored in `change_body`. */
  readonly beforeAt: number;
  readonly catalogGrew: boolean;
}

export interface Sealed {
  /** Time of the last change in microseconds; undefined when nothing changed. */
  readonly lastUs: number | undefined;
  /** How many transactions each writer has committed with this one, by {@link writerKey}. */
  readonly writes: ReadonlyMap<string, number>;
}

/**
 * SQL that checks the shards and the numbers: `fence` has a row for each writer that still owns its shard and has lost
 * no write, and `known.n` numbers stand for what they stood for when they were given out.
 */
const fence = `fence AS (
    UPDATE shard SET writes = shard.writes + 1
    FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[]) AS w (id, epoch, least, most)
    WHERE shard.id = w.id AND shard.epoch = w.epoch AND shard.writes BETWEEN w.least AND w.most
    RETURNING shard.id, shard.epoch, shard.writes
  ), held AS (SELECT count(*) AS n FROM fence), known AS (
    SELECT (SELECT count(*) FROM unnest($5::int4[], $6::text[]) AS k (id, key) JOIN type USING (id, key))
      + (SELECT count(*) FROM unnest($7::int4[], $8::text[]) AS k (id, incarnation) JOIN incarnation USING (id, incarnation))
      AS n
  )`;
const found = `(SELECT n FROM known)::int4 AS known, ARRAY(SELECT id || '/' || epoch FROM fence) AS held,
  ARRAY(SELECT writes FROM fence) AS writes`;

/**
 * Checks the shards and writes the log.
 * @throws ShardsLostError (rejects); the transaction must then be rolled back
 * @throws GatewayError (rejects) when the database has lost numbers of types or incarnations that it has given out
 */
export async function seal(client: ClientBase, sealed: Seal): Promise<Sealed> {
  const { log, catalogGrew, types, incarnations, afterUs } = sealed;
  // In the same order everywhere: two transactions that lock the same rows then wait for each other, and not for ever.
  const writers = [...new Map(sealed.writers.map((writer) => [writerKey(writer), writer])).values()].sort(
    (one, other) => one.shard - other.shard,
  );
  const isSequenced = log.length > 0 || catalogGrew;
  if (!isSequenced && writers.length === 0) return { lastUs: undefined, writes: new Map() };
  const fenceValues = [
    writers.map(({ shard }) => shard),
    writers.map(({ epoch }) => epoch),
    writers.map(({ least }) => least),
    writers.map(({ most }) => most),
    ...[types, incarnations].flatMap((numbers) => [[...numbers.keys()], [...numbers.values()]]),
  ];
  const { rows } = isSequenced
    ? await client.query<SealRow>(sealText, [...fenceValues, ...logValues(sealed), catalogGrew, afterUs])
    : await client.query<SealRow>(`WITH ${fence} SELECT ${found}, NULL AS last`, fenceValues);
  const { held, writes, known, last } = rows[0]!;
  const lost = writers.map(writerKey).filter((key) => !held.includes(key));
  if (lost.length > 0) throw new ShardsLostError(new Set(lost));
  if (known < types.size + incarnations.size)
    throw unavailable('has lost numbers that it gave out: it is written anew');
  return {
    lastUs: log.length === 0 ? undefined : last!,
    writes: new Map(held.map((key, i) => [key, Number(writes[i])])),
  };
}

interface SealRow {
  readonly known: number;
  readonly held: readonly string[];
  readonly writes: readonly (number | string)[];
  readonly last: number | null;
}

/** A change of the catalog alone takes no number from the sequencer. */
const sealText = `WITH ${fence}, clock AS MATERIALIZED (SELECT ${clockUs} AS us), seq AS (
    UPDATE sequencer q SET
      last = CASE WHEN $9::int8 = 0 THEN q.last ELSE greatest(q.last + $9::int8, $21::int8 + $9::int8, clock.us) END,
      rights = CASE WHEN $10::int8 = 0 THEN q.rights
        ELSE greatest(q.last + $9::int8, $21::int8 + $9::int8, clock.us) - $9::int8 + $10::int8 END,
      catalog = CASE WHEN $20::bool THEN greatest(q.catalog + 1, clock.us) ELSE q.catalog END
    FROM held, known, clock
    WHERE q.one AND held.n = cardinality($1::int2[]) AND known.n = cardinality($5::int4[]) + cardinality($7::int4[])
    RETURNING q.last
  ), logged AS (
    INSERT INTO change (sequence, id, before_at, t, inc, shard, kind, namespace, name, uid)
    SELECT seq.last - $9::int8 + e.at, e.id, CASE WHEN e.kind = ${changeKind.added} THEN NULL ELSE $11::int8 END,
      e.t, e.inc, e.shard, e.kind, e.namespace, e.name, e.uid
    FROM seq, unnest($12::int8[], $13::int4[], $14::int4[], $15::int2[], $16::int2[], $17::bytea[], $18::bytea[], $19::bytea[])
      WITH ORDINALITY AS e (id, t, inc, shard, kind, namespace, name, uid, at)
  )
  SELECT ${found}, (SELECT last FROM seq) AS last`;

function logValues({ log, beforeAt }: Seal): readonly unknown[] {
  return [
    log.length,
    // Position of the last change of an RBAC object, counted from 1; 0 when there is none.
    1 + log.findLastIndex(({ target }) => isRightsType(target.type)),
    beforeAt,
    log.map(({ id }) => id),
    log.map(({ target }) => target.t),
    log.map(({ target }) => target.inc),
    log.map(({ target }) => target.shard),
    log.map(({ kind }) => kind),
    log.map(({ namespace }) => namespace),
    log.map(({ name }) => name),
    log.map(({ uid }) => uid),
  ];
}
