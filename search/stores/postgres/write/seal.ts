// The last statement of a write: checks that each writer still holds its shard, takes the numbers of the changes from
// the sequencer, and writes the log. The row of the sequencer is locked until the commit is visible, so whoever sees a
// number sees every change up to it; all values are with the server before the lock is taken.
import type { ClientBase, DatabaseError } from 'pg';

import { FencedError } from '../../fenced-error.ts';
import { isRightsType } from '../../rights-types.ts';
import type { ShardWriter } from '../../store.ts';
import { sqlState } from '../connection/errors.ts';
import { changeKind, shardsLostState } from '../schema.ts';
import { byteas, int2s, int8s } from './arrays.ts';
import { targetArrays } from './find.ts';
import { run, type Statement } from './pipeline.ts';
import type { LogRow } from './write-set.ts';

/** A write whose writers have lost shards; the others' batches can be written without theirs. */
export class ShardsLostError extends FencedError {
  /** `shard/epoch` of each. */
  readonly lost: ReadonlySet<string>;

  constructor(lost: ReadonlySet<string>) {
    super(`the lease of ${[...lost].join(', ')} (shard/epoch) is lost`);
    this.lost = lost;
  }
}

export interface Seal {
  readonly writers: readonly ShardWriter[];
  readonly log: readonly LogRow[];
  /** Of the bodies before, as they were kept. */
  readonly beforeAt: number;
  readonly catalogGrew: boolean;
}

export function writerKey({ shard, epoch }: ShardWriter): string {
  return `${shard}/${epoch}`;
}

/**
 * Runs the statements of a write, the seal after them, and COMMIT, all sent in one go: nobody waits for this process
 * while the sequencer is locked.
 * @returns time of the last change in microseconds; undefined when there was none
 * @throws ShardsLostError (rejects); the transaction must be rolled back
 */
export async function commitSealed(
  client: ClientBase,
  statements: readonly Statement[],
  of: Seal,
): Promise<number | undefined> {
  const last = seal(of);
  try {
    const rows = await run(client, [...statements, ...last, { text: 'COMMIT', values: [] }]);
    return of.log.length === 0 ? undefined : Number(rows.at(-2)![0]![0]);
  } catch (error) {
    if (sqlState(error) !== shardsLostState) throw error;
    throw new ShardsLostError(new Set((error as DatabaseError).detail!.split(' ')));
  }
}

/** The last statement before COMMIT, if there is anything to seal. */
function seal({ writers, log, beforeAt, catalogGrew }: Seal): readonly Statement[] {
  const distinct = [...new Map(writers.map((writer) => [writerKey(writer), writer])).values()];
  const isSequenced = log.length > 0 || catalogGrew;
  if (!isSequenced && distinct.length === 0) return [];
  const fenceValues = [int2s(distinct.map(({ shard }) => shard)), int8s(distinct.map(({ epoch }) => epoch))];
  if (!isSequenced) return [{ text: `WITH ${fence} SELECT ok FROM held`, values: fenceValues }];
  return [{ text: sealText, values: [...fenceValues, ...logValues(log, beforeAt), catalogGrew ? '1' : '0'] }];
}

/** Writers that have lost their shards end the transaction (`refuse_lost` in schema.ts). */
const fence = `w AS (SELECT * FROM unnest($1::int2[], $2::int8[]) AS w (id, epoch)), fence AS (
    UPDATE shard SET epoch = w.epoch FROM w WHERE shard.id = w.id AND shard.epoch = w.epoch RETURNING w.id, w.epoch
  ), held AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM fence) = cardinality($1::int2[]) THEN true ELSE refuse_lost((
      SELECT string_agg(w.id || '/' || w.epoch, ' ') FROM w WHERE (w.id, w.epoch) NOT IN (SELECT id, epoch FROM fence)
    )) END AS ok
  )`;

/** A change of the catalog alone takes no number. */
const sealText = `WITH ${fence}, clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS us
  ), seq AS (
    UPDATE sequencer q SET last = CASE WHEN $3::int8 = 0 THEN q.last ELSE greatest(q.last + $3::int8, clock.us) END,
      rights = CASE WHEN $4::int8 = 0 THEN q.rights ELSE greatest(q.last + $3::int8, clock.us) - $3::int8 + $4::int8 END,
      catalog = q.catalog + $14::int8
    FROM held, clock WHERE q.one AND held.ok RETURNING q.last
  ), logged AS (
    INSERT INTO change (sequence, id, before_at, t, inc, shard, kind, namespace, name, uid)
    SELECT seq.last - $3::int8 + e.at, e.id, CASE WHEN e.kind = ${changeKind.added} THEN NULL ELSE $5::int8 END,
      e.t, e.inc, e.shard, e.kind, e.namespace, e.name, e.uid
    FROM seq, unnest($6::int8[], $7::int2[], $8::int4[], $9::int4[], $10::int2[], $11::bytea[], $12::bytea[], $13::bytea[])
      WITH ORDINALITY AS e (id, shard, inc, t, kind, namespace, name, uid, at)
  )
  SELECT last FROM seq`;

function logValues(log: readonly LogRow[], beforeAt: number): Statement['values'] {
  return [
    String(log.length),
    // Position of the last change of an RBAC object, from 1.
    String(1 + log.findLastIndex(({ target }) => isRightsType(target.type))),
    String(beforeAt),
    int8s(log.map(({ id }) => id)),
    ...targetArrays(log.map(({ target }) => target)),
    int2s(log.map(({ kind }) => kind)),
    byteas(log.map(({ namespace }) => namespace)),
    byteas(log.map(({ name }) => name)),
    byteas(log.map(({ uid }) => uid)),
  ];
}
