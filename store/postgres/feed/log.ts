// Reads the change log, with the body (the object's JSON) before and after each change. Entries never change, so they
// are read in portions, each in its own transaction. After each portion the reader checks whether old entries were
// dropped meanwhile.
import { escapeLiteral } from 'pg';

import { GatewayError } from '../../../model/errors.ts';
import type { TypeKey } from '../../../query/types.ts';
import type { IndexVersions } from '../../index-version.ts';
import type { LogEntry, ReadPoint } from '../../store.ts';
import { byIndexOnly, type Database } from '../connection/database.ts';
import { copyRows, type CopyRow } from '../connection/script.ts';
import { changeKind } from '../connection/schema.ts';

/** How many entries one statement reads. */
const entriesAtOnce = 200;

/** Which changes in the store are the newest. */
export interface Moment {
  /** Time of the last change in microseconds. */
  readonly lastUs: number;
  /** Time of the newest change of a role or binding in microseconds; 0 when there is none. */
  readonly rightsUs: number;
  /**
   * A number that grows with every new type, every new incarnation of a cluster, and every type that begins to be
   * copied from a further incarnation.
   */
  readonly catalog: number;
}

export class ChangeLog {
  readonly #database: Database;
  readonly #versions: IndexVersions;

  constructor(database: Database, versions: IndexVersions) {
    this.#database = database;
    this.#versions = versions;
  }

  /**
   * Reads which changes in the store are the newest.
   * @throws GatewayError (rejects) while the database cannot answer, as every method of this class does
   */
  async moment(): Promise<Moment> {
    const [row] = await this.#database.query<[number, number, number]>(
      `SELECT last, rights, catalog FROM ${this.#database.schema}.sequencer WHERE one`,
    );
    const [lastUs, rightsUs, catalog] = row!;
    return { lastUs, rightsUs, catalog };
  }

  pointOf({ lastUs, rightsUs }: Moment): ReadPoint {
    const rightsVersion = rightsUs === 0 ? '' : this.#versions.make(rightsUs);
    return { resourceVersion: this.#versions.make(lastUs), rightsVersion };
  }

  /** The time, in microseconds since 1970, after which the log contains every change. */
  async oldestUs(): Promise<number> {
    const [row] = await this.#database.query<[number]>(`SELECT trimmed FROM ${this.#database.schema}.store WHERE one`);
    return row![0];
  }

  /**
   * Whether a client can resume from this time. A change must have been made at exactly this time, or all entries up to
   * exactly this time were dropped. All later changes must be in the log.
   */
  async isInLog(timeUs: number): Promise<boolean> {
    const { schema } = this.#database;
    const [row] = await this.#database.query<[boolean]>(
      `SELECT trimmed = $1 OR (trimmed < $1 AND EXISTS (SELECT FROM ${schema}.change WHERE sequence = $1))
      FROM ${schema}.store WHERE one`,
      [timeUs],
    );
    return row![0];
  }

  /**
   * Entries after a time, oldest first.
   * @throws GatewayError (rejects) with code EXPIRED when {@link isInLog} is false
   */
  async changes(sinceUs: number, types: readonly TypeKey[], limit: number): Promise<readonly LogEntry[]> {
    if (!(await this.isInLog(sinceUs))) await this.#expire(sinceUs);
    const entries: LogEntry[] = [];
    for (let atUs = sinceUs; entries.length < limit && types.length > 0;) {
      const wanted = Math.min(entriesAtOnce, limit - entries.length);
      const rows = await this.#read(atUs, types, wanted);
      // Partitions may have been dropped while the entries were read. Then entries may be missing.
      if ((await this.oldestUs()) > atUs) await this.#expire(atUs);
      for (const row of rows) entries.push(this.#entryOf(row));
      if (rows.length < wanted) break;
      atUs = Number(rows.at(-1)![0]!.readBigInt64BE());
    }
    return entries;
  }

  #read(sinceUs: number, types: readonly TypeKey[], limit: number): Promise<readonly CopyRow[]> {
    // COPY takes no parameters. The numbers are this program's own, and the names of types are escaped.
    const keys = types.map((type) => escapeLiteral(type)).join();
    const query = `SELECT c.sequence, c.kind, t.key, i.incarnation, i.cluster, c.namespace, c.name, c.uid, b.raw,
        CASE WHEN c.kind <> ${changeKind.deleted} THEN coalesce(n.raw, o.raw) END
      FROM (
        SELECT * FROM change WHERE sequence > ${sinceUs}
          AND t = ANY (ARRAY(SELECT id FROM type WHERE key IN (${keys}))) ORDER BY sequence LIMIT ${limit}
      ) AS c
      JOIN type t ON t.id = c.t JOIN incarnation i ON i.id = c.inc
      LEFT JOIN change_body b ON b.shard = c.shard AND b.id = c.id AND b.before_at = c.before_at
      LEFT JOIN LATERAL (
        SELECT f.before_at FROM change f WHERE f.id = c.id AND f.shard = c.shard AND f.sequence > c.sequence ORDER BY f.sequence LIMIT 1
      ) AS f ON c.kind <> ${changeKind.deleted}
      LEFT JOIN change_body n ON n.shard = c.shard AND n.id = c.id AND n.before_at = f.before_at
      LEFT JOIN body o ON f.before_at IS NULL AND o.shard = c.shard AND o.id = c.id
      ORDER BY c.sequence`;
    return this.#database.transaction((client) => copyRows(client, query), byIndexOnly);
  }

  #entryOf(row: CopyRow): LogEntry {
    const text = (column: number): string => row[column]!.toString();
    return {
      resourceVersion: this.#versions.make(Number(row[0]!.readBigInt64BE())),
      type: text(2),
      incarnation: text(3),
      cluster: text(4),
      namespace: text(5),
      name: text(6),
      uid: text(7),
      before: row[8],
      after: row[9],
    };
  }

  async #expire(sinceUs: number): Promise<never> {
    const isOld = sinceUs < (await this.oldestUs());
    throw new GatewayError(
      'EXPIRED',
      isOld
        ? 'the resourceVersion is older than what the index remembers: list again'
        : 'this index has not issued the resourceVersion: list again',
    );
  }
}
