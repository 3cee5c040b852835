// The last statement of a write. It checks that each writer still owns its shard, takes numbers for the changes from
// the sequencer, and writes the log. The sequencer's row is locked until the commit is visible, so whoever sees a
// number also sees every change up to it. All values, and the COMMIT after this statement, are sent to the server
// before the lock is taken, so no other writer waits for this process.
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

/** What the last statement of a write did. */
export interface Sealed {
  /** Time of the last change in microseconds; undefined when nothing changed. */
  readonly lastUs: number | undefined;
  /** Milliseconds until the sequencer gave numbers, as the server measured them; 0 when none were needed. */
  readonly waitMs: number;
}

/**
 * Runs the statements of a write, then its last one, then COMMIT. All of them are sent together.
 * @throws ShardsLostError (rejects); the transaction must then be rolled back
 */
export async function commitSealed(client: ClientBase, statements: readonly Statement[], of: Seal): Promise<Sealed> {
  const last = seal(of);
  try {
    const rows = await run(client, [...statements, ...last, { text: 'COMMIT', values: [] }]);
    if (!isSequenced(of)) return { lastUs: undefined, waitMs: 0 };
    const [lastUs, waitMs] = rows.at(-2)![0]!;
    return { lastUs: of.log.length === 0 ? undefined : Number(lastUs), waitMs: Number(waitMs) };
  } catch (error) {
    if (sqlState(error) !== shardsLostState) throw error;
    throw new ShardsLostError(new Set((error as DatabaseError).detail!.split(' ')));
  }
}

function isSequenced({ log, catalogGrew }: Seal): boolean {
  return log.length > 0 || catalogGrew;
}

/** The last statement before COMMIT; none when there is nothing to check and nothing to write. */
function seal(of: Seal): readonly Statement[] {
  const { writers, log, beforeAt, catalogGrew } = of;
  // In the same order everywhere: two transactions that lock the same rows then wait for each other, and not for ever.
  const distinct = [...new Map(writers.map((writer) => [writerKey(writer), writer])).values()].sort(
    (one, other) => one.shard - other.shard,
  );
  if (!isSequenced(of) && distinct.length === 0) return [];
  const fenceValues = [int2s(distinct.map(({ shard }) => shard)), int8s(distinct.map(({ epoch }) => epoch))];
  if (!isSequenced(of)) return [{ text: `WITH ${fence} SELECT ok FROM held`, values: fenceValues }];
  return [{ text: sealText, values: [...fenceValues, ...logValues(log, beforeAt), catalogGrew ? '1' : '0'] }];
}

/** SQL that checks the shards. It fails when a writer no longer owns its shard (`refuse_lost` in schema.ts). */
const fence = `w AS (SELECT * FROM unnest($1::int2[], $2::int8[]) AS w (id, epoch)), fence AS (
    UPDATE shard SET epoch = w.epoch FROM w WHERE shard.id = w.id AND shard.epoch = w.epoch RETURNING w.id, w.epoch
  ), held AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM fence) = cardinality($1::int2[]) THEN true ELSE refuse_lost((
      SELECT string_agg(w.id || '/' || w.epoch, ' ') FROM w WHERE (w.id, w.epoch) NOT IN (SELECT id, epoch FROM fence)
    )) END AS ok
  )`;

/** A change of the catalog alone takes no number from the sequencer. */
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
  SELECT last, extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000 FROM seq`;

function logValues(log: readonly LogRow[], beforeAt: number): Statement['values'] {
  return [
    String(log.length),
    // Position of the last change of an RBAC object, counted from 1; 0 when there is none.
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
