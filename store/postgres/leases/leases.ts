// Leases in PostgreSQL: the rights of replicas to write shards (groups of clusters). A living replica renews its own
// row of table `replica`, and with it all its leases. When a replica has not renewed its row for 15 s, any other
// replica deletes the row. Then its shards can be taken. If the silent replica is alive after all, its next heartbeat
// makes a new row, by which it notices that its leases are gone. Until then its writes are refused as soon as a shard
// has a new owner, because that gives the shard a new epoch.
import type {
  Assignment,
  Heartbeat,
  HeartbeatAnswer,
  Leases,
  ShardState,
  Situation,
  PublishedState,
} from '../../leases.ts';
import type { ShardWriter } from '../../store.ts';
import type { Database } from '../connection/database.ts';
import { clockUs } from '../connection/schema.ts';
import { shardCount, shardOf } from '../connection/shard.ts';
import { writerKey, type LeaseWrites } from '../write/lease-writes.ts';

/** A replica loses its leases (rights to write shards) when it has sent no heartbeat for this many milliseconds. */
export const leaseMs = 15_000;
/**
 * Milliseconds without a heartbeat after which a replica's shards no longer count as followed (`ShardState.isHeld`):
 * the replica has died, or is about to lose its leases.
 */
const silentMs = 8_000;
/** Milliseconds without a heartbeat after which a replica gets no further shards. */
const lateMs = 5_000;
/** Milliseconds. A shard that was given back counts as followed for so long: its next owner is about to take it. */
const handOverMs = 5_000;
const planEveryMs = 1_000;
/** Milliseconds for which a move of a shard counts as recent (`Situation.lately`). */
const movesMs = 10_000;

/** Name of the shared value with the pins: which shards an operator has assigned to which replicas. */
const pinsName = 'pinned shards';

const nowMs = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';
const ms = (milliseconds: number): string => `interval '${milliseconds} milliseconds'`;

export class PostgresLeases implements Leases {
  readonly shards = shardCount;
  readonly shardOf = shardOf;
  readonly #database: Database;
  readonly #writes: Pick<LeaseWrites, 'acknowledged'>;

  /** @param writes how many transactions this process has written with each of its leases */
  constructor(database: Database, writes: Pick<LeaseWrites, 'acknowledged'>) {
    this.#database = database;
    this.#writes = writes;
  }

  async beat({ replica, weight, form, uids, rates }: Heartbeat): Promise<HeartbeatAnswer> {
    const known = uids && countByShard(uids);
    const [row] = await this.#database.query<[string, boolean, number]>(
      `INSERT INTO ${this.#table('replica')} AS r (name, born, until, weight, known, uids, rates, form)
      VALUES ($1, clock_timestamp(), clock_timestamp() + ${ms(leaseMs)}, $2, $3, $4, $5, $6)
      ON CONFLICT (name) DO UPDATE SET until = excluded.until, weight = excluded.weight, rates = excluded.rates,
        known = coalesce(excluded.known, r.known), uids = coalesce(excluded.uids, r.uids)
      RETURNING born::text, uids IS NOT NULL, ${nowMs}`,
      [replica, weight, known, uids, rates, form],
    );
    const [life, knowsUids, atMs] = row!;
    return { life, knowsUids, nowMs: atMs };
  }

  async look(): Promise<readonly ShardState[]> {
    // Read before the database is asked. A write that was acknowledged later may be missing in the database's answer.
    const acknowledged = this.#writes.acknowledged();
    await this.#database.query(`DELETE FROM ${this.#table('replica')} WHERE until < clock_timestamp()`);
    const rows = await this.#database.query<[number, string, string, number, boolean, number]>(
      `SELECT s.id, s.owner, s.wanted, s.epoch, CASE WHEN s.owner = ''
        THEN coalesce(s.taken > clock_timestamp() - ${ms(handOverMs)}, false) ELSE
        coalesce(r.until > clock_timestamp() + ${ms(leaseMs - silentMs)}, false) END, s.writes
      FROM ${this.#table('shard')} s LEFT JOIN ${this.#table('replica')} r ON r.name = s.owner ORDER BY s.id`,
    );
    return rows.map(([shard, owner, wanted, epoch, isHeld, writes]) => {
      const hasLostWrites = writes < (acknowledged.get(writerKey({ shard, epoch })) ?? 0);
      return { shard, owner, wanted, epoch, isHeld, hasLostWrites };
    });
  }

  async replicas(): Promise<readonly string[]> {
    const rows = await this.#database.query<[string]>(
      `SELECT name FROM ${this.#table('replica')} WHERE until > clock_timestamp() ORDER BY name`,
    );
    return rows.map(([name]) => name);
  }

  async pin(shard: number, replica: string | undefined): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      await client.query(`INSERT INTO shared_value VALUES ($1, '{}') ON CONFLICT DO NOTHING`, [pinsName]);
      const text = 'SELECT value FROM shared_value WHERE name = $1 FOR UPDATE';
      const { rows } = await client.query<{ readonly value: Buffer }>(text, [pinsName]);
      if (replica !== undefined) {
        const given = await client.query(
          `UPDATE shard SET wanted = $2, moved = clock_timestamp() WHERE id = $1 AND EXISTS (SELECT FROM replica
            WHERE name = $2 AND until > clock_timestamp() AND known[$1::int + 1] > 0) RETURNING id`,
          [shard, replica],
        );
        if (given.rows.length === 0) return false;
      }
      const { [shard]: _before, ...others } = readPins(rows[0]?.value);
      const pins = replica === undefined ? others : { ...others, [shard]: replica };
      await client.query('UPDATE shared_value SET value = $2 WHERE name = $1', [
        pinsName,
        Buffer.from(JSON.stringify(pins)),
      ]);
      return true;
    });
  }

  async plan(decide: (situation: Situation) => readonly Assignment[]): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      const turn = await client.query(
        `SELECT 1 FROM planner WHERE one AND at < clock_timestamp() - ${ms(planEveryMs)} FOR UPDATE SKIP LOCKED`,
      );
      if (turn.rows.length === 0) return false;
      await client.query('UPDATE planner SET at = clock_timestamp()');
      const replicas = await client.query<Situation['replicas'][number] & { readonly rates: readonly number[] }>(
        `SELECT name, weight, form, known, rates, until < clock_timestamp() + ${ms(leaseMs - lateMs)} AS "isSilent"
        FROM replica WHERE known IS NOT NULL AND until > clock_timestamp() ORDER BY name`,
      );
      const shards = await client.query<Situation['shards'][number] & { readonly late: boolean }>(
        `SELECT s.id AS shard, s.owner, s.wanted, coalesce(f.rows, 0)::float8 AS rows,
          coalesce(s.moved > clock_timestamp() - ${ms(movesMs)}, false) AS late
        FROM shard s LEFT JOIN (SELECT shard, sum(objects) AS rows FROM follow GROUP BY shard) f ON f.shard = s.id
        ORDER BY s.id`,
      );
      const text = 'SELECT value FROM shared_value WHERE name = $1';
      const pinned = await client.query<{ readonly value: Buffer }>(text, [pinsName]);
      const pins = readPins(pinned.rows[0]?.value);
      const rates = new Map(replicas.rows.map((replica) => [replica.name, replica.rates]));
      const made = decide({
        replicas: replicas.rows,
        shards: shards.rows.map((row) => ({
          ...row,
          rate: rates.get(row.owner)?.[row.shard] ?? 0,
          isPinned: row.wanted !== '' && pins[row.shard] === row.wanted,
        })),
        lately: shards.rows.filter(({ late }) => late).length,
      });
      if (made.length === 0) return true;
      await client.query(
        `UPDATE shard SET wanted = a.to_replica, moved = CASE WHEN a.is_move THEN clock_timestamp() ELSE moved END
        FROM unnest($1::int2[], $2::text[], $3::bool[]) AS a (id, to_replica, is_move) WHERE shard.id = a.id`,
        [made.map(({ shard }) => shard), made.map(({ to }) => to), made.map(({ isMove }) => isMove)],
      );
      return true;
    });
  }

  async take(replica: string, shards: readonly number[]): Promise<readonly ShardWriter[]> {
    const rows = await this.#database.query<[number, number]>(
      `UPDATE ${this.#table('shard')} s SET owner = $1, epoch = greatest(epoch + 1, ${clockUs}), taken = clock_timestamp()
      WHERE id = ANY($2::int2[]) AND wanted = $1 AND (owner IN ('', $1)
        OR NOT EXISTS (SELECT FROM ${this.#table('replica')} r WHERE r.name = s.owner)) RETURNING id, epoch`,
      [replica, shards],
    );
    return rows.map(([shard, epoch]) => ({ shard, epoch }));
  }

  async release(leases: readonly ShardWriter[]): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#table('shard')} s SET owner = '', taken = clock_timestamp()
      FROM unnest($1::int2[], $2::int8[]) AS l (id, epoch) WHERE s.id = l.id AND s.epoch = l.epoch`,
      [leases.map(({ shard }) => shard), leases.map(({ epoch }) => epoch)],
    );
  }

  async leave(replica: string): Promise<void> {
    await this.#database.query(`DELETE FROM ${this.#table('replica')} WHERE name = $1`, [replica]);
  }

  async registered(): Promise<ReadonlySet<string> | undefined> {
    const rows = await this.#database.query<[readonly string[] | null]>(`SELECT uids FROM ${this.#table('replica')}`);
    if (rows.some(([uids]) => uids === null)) return undefined;
    return new Set(rows.flatMap(([uids]) => uids!));
  }

  async publish(states: readonly PublishedState[]): Promise<void> {
    if (states.length === 0) return;
    await this.#database.query(
      `WITH v AS (
        SELECT v.* FROM unnest($1::text[], $2::int2[], $3::int8[], $4::text[], $5::text[])
          AS v (uid, shard, epoch, info, numbers)
        JOIN ${this.#table('shard')} s ON s.id = v.shard AND s.epoch = v.epoch
      ), next AS (
        UPDATE ${this.#table('told_stamp')} SET last = greatest(last + 1, ${clockUs}) WHERE one RETURNING last
      )
      INSERT INTO ${this.#table('told')} AS t (uid, shard, epoch, stamp, info_stamp, info, numbers)
      SELECT v.uid, v.shard, v.epoch, next.last, CASE WHEN v.info IS NULL THEN 0 ELSE next.last END,
        coalesce(v.info, ''), v.numbers::int8[] FROM v, next
      ON CONFLICT (uid) DO UPDATE SET epoch = excluded.epoch, stamp = excluded.stamp, numbers = excluded.numbers,
        info = CASE WHEN excluded.info_stamp = 0 THEN t.info ELSE excluded.info END,
        info_stamp = CASE WHEN excluded.info_stamp = 0 THEN t.info_stamp ELSE excluded.info_stamp END
      WHERE t.epoch <= excluded.epoch`,
      [
        states.map(({ uid }) => uid),
        states.map(({ shard }) => shard),
        states.map(({ epoch }) => epoch),
        states.map(({ info }) => info ?? null),
        // Sent as text, because unnest would flatten an array of arrays.
        states.map(({ numbers }) => `{${numbers.join()}}`),
      ],
    );
  }

  async published(stamp: number): Promise<{ readonly stamp: number; readonly states: readonly PublishedState[] }> {
    const rows = await this.#database.query<[string, number, number, number, string | null, string]>(
      `SELECT uid, shard, epoch, stamp, CASE WHEN info_stamp > $1 THEN info END, numbers::text
      FROM ${this.#table('told')} WHERE stamp > $1`,
      [stamp],
    );
    const states = rows.map(([uid, shard, epoch, , info, numbers]): PublishedState => {
      const some = numbers === '{}' ? [] : numbers.slice(1, -1).split(',').map(Number);
      return { uid, shard, epoch, numbers: some, ...(info === null ? {} : { info }) };
    });
    return { stamp: Math.max(stamp, ...rows.map((row) => row[3])), states };
  }

  async withdraw(uids: readonly string[]): Promise<void> {
    await this.#database.query(`DELETE FROM ${this.#table('told')} WHERE uid = ANY($1)`, [uids]);
  }

  #table(name: string): string {
    return `${this.#database.schema}.${name}`;
  }
}

/**
 * The name of the replica that each pinned shard was assigned to, by shard number. A pin ends with its replica, because
 * no later replica has the same name.
 */
type Pins = Readonly<Record<number, string>>;

function readPins(kept: Buffer | undefined): Pins {
  return kept === undefined ? {} : (JSON.parse(kept.toString()) as Pins);
}

function countByShard(uids: readonly string[]): readonly number[] {
  const counts = Array<number>(shardCount).fill(0);
  for (const uid of uids) counts[shardOf(uid)]! += 1;
  return counts;
}
