// The last statement of a write. It checks that each writer still owns its shard, takes numbers for the changes from
// the sequencer, and writes the log. The sequencer's row is locked until the commit is visible, so whoever sees a
// number also sees every change up to it. All values are sent to the server before the lock is taken.
import type { ClientBase } from 'pg';

import { FencedError } from '../../fenced-error.ts';
import { isRightsType } from '../../rights-types.ts';
import type { ShardWriter } from '../../store.ts';
import { changeKind } from '../schema.ts';
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
  readonly writers: readonly ShardWriter[];
  readonly log: readonly LogRow[];
  /** In microseconds: the time under which the bodies from before these changes were stored in `change_body`. */
  readonly beforeAt: number;
  readonly catalogGrew: boolean;
}

export function writerKey({ shard, epoch }: ShardWriter): string {
  return `${shard}/${epoch}`;
}

/** SQL that checks the shards: `held.n` is the number of writers that still own theirs. */
const fence = `fence AS (
    UPDATE shard SET epoch = w.epoch FROM unnest($1::int2[], $2::int8[]) AS w (id, epoch)
    WHERE shard.id = w.id AND shard.epoch = w.epoch RETURNING shard.id, w.epoch
  ), held AS (SELECT count(*) AS n FROM fence)`;

/**
 * Checks the shards and writes the log.
 * @returns the time of the last change in microseconds; undefined when nothing changed
 * @throws ShardsLostError (rejects); the transaction must then be rolled back
 */
export async function seal(
  client: ClientBase,
  { writers, log, beforeAt, catalogGrew }: Seal,
): Promise<number | undefined> {
  // In the same order everywhere: two transactions that lock the same rows then wait for each other, and not for ever.
  const distinct = [...new Map(writers.map((writer) => [writerKey(writer), writer])).values()].sort(
    (one, other) => one.shard - other.shard,
  );
  const isSequenced = log.length > 0 || catalogGrew;
  if (!isSequenced && distinct.length === 0) return undefined;
  const fenceValues = [distinct.map(({ shard }) => shard), distinct.map(({ epoch }) => epoch)];
  const { rows } = isSequenced
    ? await client.query<SealRow>(sealText, [
        ...fenceValues,
        distinct.length,
        ...logValues(log, beforeAt),
        catalogGrew ? 1 : 0,
      ])
    : await client.query<SealRow>(
        `WITH ${fence} SELECT ARRAY(SELECT id || '/' || epoch FROM fence) AS held, NULL AS last`,
        fenceValues,
      );
  const held = new Set(rows[0]!.held);
  const lost = distinct.map(writerKey).filter((key) => !held.has(key));
  if (lost.length > 0) throw new ShardsLostError(new Set(lost));
  return log.length === 0 ? undefined : rows[0]!.last!;
}

interface SealRow {
  readonly held: readonly string[];
  readonly last: number | null;
}

/** A change of the catalog alone takes no number from the sequencer. */
const sealText = `WITH ${fence}, clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS us
  ), seq AS (
    UPDATE sequencer q SET last = CASE WHEN $4::int8 = 0 THEN q.last ELSE greatest(q.last + $4::int8, clock.us) END,
      rights = CASE WHEN $5::int8 = 0 THEN q.rights ELSE greatest(q.last + $4::int8, clock.us) - $4::int8 + $5::int8 END,
      catalog = q.catalog + $15::int8
    FROM held, clock WHERE q.one AND held.n = $3::int8 RETURNING q.last
  ), logged AS (
    INSERT INTO change (sequence, id, before_at, t, inc, shard, kind, namespace, name, uid)
    SELECT seq.last - $4::int8 + e.at, e.id, CASE WHEN e.kind = ${changeKind.added} THEN NULL ELSE $6::int8 END,
      e.t, e.inc, e.shard, e.kind, e.namespace, e.name, e.uid
    FROM seq, unnest($7::int8[], $8::int4[], $9::int4[], $10::int2[], $11::int2[], $12::bytea[], $13::bytea[], $14::bytea[])
      WITH ORDINALITY AS e (id, t, inc, shard, kind, namespace, name, uid, at)
  )
  SELECT ARRAY(SELECT id || '/' || epoch FROM fence) AS held, (SELECT last FROM seq) AS last`;

function logValues(log: readonly LogRow[], beforeAt: number): readonly unknown[] {
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
