// Partitions of the change log: created ahead of time, and dropped as a whole when old. Any process may do so, one at a
// time. Dropping needs a lock that blocks readers. If the lock is not free within half a second, dropping is put off.
import type { ClientBase } from 'pg';

import type { Database } from '../connection/database.ts';
import { sqlState } from '../connection/errors.ts';

export interface PartitionOptions {
  /** Milliseconds for which changes are kept in the log, or longer. */
  readonly keepMs: number;
  /** Time span of one partition in milliseconds. */
  readonly partitionMs: number;
}

export const defaultPartitions: PartitionOptions = { keepMs: 2 * 3600_000, partitionMs: 600_000 };

/** How many future partitions exist in advance, so that writes succeed for a while even if no process creates more. */
const ahead = 6;
const tables = ['change', 'change_body'] as const;
type LogTable = (typeof tables)[number];
/** Key of the advisory lock for this work. It must be the same in all versions of this program. */
const partitionLock = 0x50436979;
const lockTimeoutMs = 500;
const noPartition = '23514';
const lockNotAvailable = '55P03';

interface Partition {
  readonly table: LogTable;
  readonly name: string;
  /** Bounds of the partition in microseconds; `fromUs` is included, `toUs` is not. */
  readonly fromUs: number;
  readonly toUs: number;
}

export class Partitions {
  readonly #database: Database;
  readonly #options: PartitionOptions;

  constructor(database: Database, options: PartitionOptions) {
    this.#database = database;
    this.#options = options;
  }

  /**
   * Creates missing partitions.
   * @throws GatewayError (rejects) when the database fails
   */
  async extend(): Promise<void> {
    await this.#database.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [partitionLock]);
      const { partitions, nowUs } = await state(client);
      const stepUs = this.#options.partitionMs * 1000;
      for (const table of tables) {
        const own = partitions.filter((one) => one.table === table);
        for (let at = Math.floor(nowUs / stepUs) - 1; at <= Math.floor(nowUs / stepUs) + ahead; at++) {
          const [fromUs, toUs] = [at * stepUs, (at + 1) * stepUs];
          // Another process may use another time span. So a partition that overlaps this span counts as existing.
          if (own.some((one) => one.fromUs < toUs && fromUs < one.toUs)) continue;
          const name = `${table}_${fromUs}`;
          await client.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL);
            ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${fromUs}) TO (${toUs})`);
        }
      }
    });
  }

  /**
   * Drops partitions that are old enough. When a reader holds a lock on one of them, nothing is dropped until a later
   * call.
   * @throws GatewayError (rejects) when the database fails
   */
  async trim(): Promise<void> {
    try {
      await this.#database.transaction((client) => this.#trim(client), `SET LOCAL lock_timeout = ${lockTimeoutMs};`);
    } catch (error) {
      if (sqlState((error as Error).cause) !== lockNotAvailable) throw error;
    }
  }

  async #trim(client: ClientBase): Promise<void> {
    const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS mine', [
      partitionLock,
    ]);
    if (!rows[0]!.mine) return;
    const { partitions, nowUs } = await state(client);
    const { keepMs, partitionMs } = this.#options;
    const limitUs = nowUs - keepMs * 1000;
    // A body is stored under an earlier time than its change. So it can lie in an older partition than the change does.
    const isOld = ({ table, toUs }: Partition): boolean =>
      toUs <= (table === 'change' ? limitUs : limitUs - partitionMs * 1000);
    const old = partitions.filter(isOld);
    if (old.length === 0) return;
    const changes = old.filter(({ table }) => table === 'change').map(({ name }) => name);
    if (changes.length > 0) {
      const newest = changes.map((name) => `SELECT max(sequence) AS us FROM ${name}`).join(' UNION ALL ');
      await client.query(
        `UPDATE store SET trimmed = greatest(trimmed, (SELECT max(us) FROM (${newest}) AS dropped)) WHERE one`,
      );
    }
    await client.query(`DROP TABLE ${old.map(({ name }) => name).join()}`);
  }
}

/** Whether a write failed because the log has no partition for its time. */
export function lacksPartition(error: unknown): boolean {
  return sqlState((error as Error).cause ?? error) === noPartition;
}

const bounds = /FROM \('(\d+)'\) TO \('(\d+)'\)/;

async function state(client: ClientBase): Promise<{ partitions: readonly Partition[]; nowUs: number }> {
  const { rows } = await client.query<{ table: LogTable; name: string; bounds: string }>(
    `SELECT p.relname AS table, c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
    WHERE p.oid IN ('change'::regclass, 'change_body'::regclass)`,
  );
  // If the clock was set back, the time of the last change is used, because the next change gets a later time than it.
  const last = await client.query<{ now: number }>(
    'SELECT greatest(last, (extract(epoch FROM clock_timestamp()) * 1000000)::int8) AS now FROM sequencer',
  );
  const partitions = rows.map((row): Partition => {
    const [, from, to] = bounds.exec(row.bounds)!;
    return { table: row.table, name: row.name, fromUs: Number(from), toUs: Number(to) };
  });
  return { partitions, nowUs: last.rows[0]!.now };
}
