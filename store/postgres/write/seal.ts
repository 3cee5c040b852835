// The last statement of a write. It checks that each writer still holds the lease of its shard (a group of clusters),
// and that the database has lost no commit that it had acknowledged. It takes numbers (times) for the changes from the
// sequencer, and writes the change log. The sequencer's row is locked until the commit is visible, so whoever sees a
// number also sees every change up to it. All values, and the COMMIT after this statement, are sent to the server
// before the lock is taken. So no other writer waits for this process.
import type { ClientBase, DatabaseError } from 'pg';

import type { TypeKey } from '../../../query/types.ts';
import { FencedError } from '../../fenced-error.ts';
import { isRightsType } from '../../rights-types.ts';
import type { ShardWriter } from '../../store.ts';
import { sqlState, unavailable } from '../connection/errors.ts';
import { changeKind, clockUs, numbersLost, shardsLostState } from '../connection/schema.ts';
import { byteas, int2s, int4s, int8s, texts } from './arrays.ts';
import { targetArrays } from './find.ts';
import { writerKey, type WriteBounds } from './lease-writes.ts';
import { run, type Statement } from './pipeline.ts';
import type { LogRow } from './write-set.ts';

/**
 * Thrown when some writers of a transaction have lost the leases of their shards. The batches of the other writers can
 * be written when the transaction is tried again without the lost ones.
 */
export class ShardsLostError extends FencedError {
  /** The shards whose leases are lost, each as `shard/epoch`. */
  readonly lost: ReadonlySet<string>;

  constructor(lost: ReadonlySet<string>) {
    super(`the lease of ${[...lost].join(', ')} (shard/epoch) is lost`);
    this.lost = lost;
  }
}

export interface Seal {
  readonly writers: readonly (ShardWriter & WriteBounds)[];
  /** The types and incarnations that the transaction refers to, by their numbers in the database. */
  readonly types: ReadonlyMap<number, TypeKey>;
  readonly incarnations: ReadonlyMap<number, string>;
  /** The changes of this write get times (microseconds since 1970) after this time. */
  readonly afterUs: number;
  readonly log: readonly LogRow[];
  /** Microseconds since 1970: the time under which the bodies before these changes were stored in `change_body`. */
  readonly beforeAt: number;
  readonly catalogGrew: boolean;
}

/** The result of the last statement of a write. */
export interface Sealed {
  /** Time of the last change in microseconds; undefined when nothing changed. */
  readonly lastUs: number | undefined;
  /** Milliseconds until the sequencer gave numbers, as measured by the server; 0 when no numbers were needed. */
  readonly waitMs: number;
  /** How many transactions each writer has committed, including this one, by {@link writerKey}. */
  readonly writes: ReadonlyMap<string, number>;
}

/**
 * Runs the statements of a write, then its last one, then COMMIT. All of them are sent together.
 * @throws ShardsLostError (rejects); the transaction must then be rolled back
 * @throws GatewayError (rejects) when the database has lost numbers of types or incarnations that it had given out
 */
export async function commitSealed(client: ClientBase, statements: readonly Statement[], of: Seal): Promise<Sealed> {
  const last = seal(of);
  try {
    const rows = await run(client, [...statements, ...last, { text: 'COMMIT', values: [] }]);
    if (last.length === 0) return { lastUs: undefined, waitMs: 0, writes: new Map() };
    const [lastUs, waitMs, writes] = rows.at(-2)![0]!;
    return {
      lastUs: of.log.length === 0 ? undefined : Number(lastUs),
      waitMs: Number(waitMs),
      writes: new Map(
        writes
          ?.split(',')
          .map((each) => each.split(' ') as [string, string])
          .map(([key, n]) => [key, Number(n)]),
      ),
    };
  } catch (error) {
    if (sqlState(error) !== shardsLostState) throw error;
    const detail = (error as DatabaseError).detail!;
    if (detail === numbersLost) throw unavailable('has lost numbers that it gave out: it is written anew');
    throw new ShardsLostError(new Set(detail.split(' ')));
  }
}

function isSequenced({ log, catalogGrew }: Seal): boolean {
  return log.length > 0 || catalogGrew;
}

/** The last statement before COMMIT; an empty list when there is nothing to check and nothing to write. */
function seal(of: Seal): readonly Statement[] {
  const { types, incarnations, afterUs, catalogGrew } = of;
  // All transactions lock shards in the same order, because different orders could deadlock.
  const writers = [...new Map(of.writers.map((writer) => [writerKey(writer), writer])).values()].sort(
    (one, other) => one.shard - other.shard,
  );
  if (!isSequenced(of) && writers.length === 0) return [];
  const fenceValues = [
    int2s(writers.map(({ shard }) => shard)),
    ...(['epoch', 'least', 'most'] as const).map((what) => int8s(writers.map((writer) => writer[what]))),
    ...[types, incarnations].flatMap((numbers) => [int4s([...numbers.keys()]), texts([...numbers.values()])]),
  ];
  if (!isSequenced(of)) return [{ text: `WITH ${fence} SELECT NULL, 0, ${written} FROM held`, values: fenceValues }];
  const values = [...fenceValues, ...logValues(of), catalogGrew ? 't' : 'f', String(afterUs)];
  return [{ text: sealText, values }];
}

/**
 * SQL that checks the shards and the numbers. It fails (`refuse_lost` in ../connection/schema.ts) when a writer has
 * lost the lease of its shard or the database has lost its writes, and when a number now stands for something else than
 * when it was given out.
 */
const fence = `w AS (SELECT * FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[]) AS w (id, epoch, least, most)),
  fence AS (
    UPDATE shard SET writes = shard.writes + 1 FROM w
    WHERE shard.id = w.id AND shard.epoch = w.epoch AND shard.writes BETWEEN w.least AND w.most
    RETURNING shard.id, shard.epoch, shard.writes
  ), known AS (
    SELECT (SELECT count(*) FROM unnest($5::int4[], $6::text[]) AS k (id, key) JOIN type USING (id, key))
      + (SELECT count(*) FROM unnest($7::int4[], $8::text[]) AS k (id, incarnation) JOIN incarnation USING (id, incarnation))
      AS n
  ), held AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM fence) < cardinality($1::int2[]) THEN refuse_lost((
        SELECT string_agg(w.id || '/' || w.epoch, ' ') FROM w WHERE (w.id, w.epoch) NOT IN (SELECT id, epoch FROM fence)
      )) WHEN (SELECT n FROM known) < cardinality($5::int4[]) + cardinality($7::int4[]) THEN refuse_lost('${numbersLost}')
      ELSE true END AS ok
  )`;
const written = `(SELECT string_agg(id || '/' || epoch || ' ' || writes, ',') FROM fence)`;

/** The text of the last statement. When only the catalog changes, it takes no number from the sequencer. */
const sealText = `WITH ${fence}, clock AS MATERIALIZED (SELECT ${clockUs} AS us), seq AS (
    UPDATE sequencer q SET
      last = CASE WHEN $9::int8 = 0 THEN q.last ELSE greatest(q.last + $9::int8, $21::int8 + $9::int8, clock.us) END,
      rights = CASE WHEN $10::int8 = 0 THEN q.rights
        ELSE greatest(q.last + $9::int8, $21::int8 + $9::int8, clock.us) - $9::int8 + $10::int8 END,
      catalog = CASE WHEN $20::bool THEN greatest(q.catalog + 1, clock.us) ELSE q.catalog END
    FROM held, clock WHERE q.one AND held.ok RETURNING q.last
  ), logged AS (
    INSERT INTO change (sequence, id, before_at, t, inc, shard, kind, namespace, name, uid)
    SELECT seq.last - $9::int8 + e.at, e.id, CASE WHEN e.kind = ${changeKind.added} THEN NULL ELSE $11::int8 END,
      e.t, e.inc, e.shard, e.kind, e.namespace, e.name, e.uid
    FROM seq, unnest($12::int8[], $13::int2[], $14::int4[], $15::int4[], $16::int2[], $17::bytea[], $18::bytea[], $19::bytea[])
      WITH ORDINALITY AS e (id, shard, inc, t, kind, namespace, name, uid, at)
  )
  SELECT last, extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000, ${written} FROM seq`;

function logValues({ log, beforeAt }: Seal): Statement['values'] {
  return [
    String(log.length),
    // Position of the last change of a role or binding, counted from 1; 0 when there is none.
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
