// Looks up one object by its complete key, on the main thread. That takes some ten microseconds, less than sending a
// message to another thread. The main thread must not be blocked, so nothing here waits for a lock, reads a large body
// (an object's JSON) or sorts. Other questions go to the reader threads.
import { DatabaseSync, type StatementSync } from 'node:sqlite';

import type { ListQuery } from '../../../query/list-query.ts';
import { grantAllows, noGrant } from '../../../query/scope/grants.ts';
import type { RowScope } from '../../../query/scope/scope.ts';
import { pointOf, type Point } from '../../point.ts';
import type { PageRequest, RowRead } from '../../store.ts';
import { Catalog, type IncarnationRecord } from '../tables/catalog.ts';
import { metaKey, slotsPerIncarnation } from '../tables/schema.ts';
import type { Moment } from '../tables/transaction.ts';

/** The result of a look-up, and the state of the index that the look-up saw. */
export interface PointRead extends Moment {
  /** One row, or none when there is no such object or the user may not see it. */
  readonly rows: readonly RowRead[];
}

export interface PointReader {
  /**
   * Looks up the object that the query names. Undefined when the caller must ask a reader thread instead: for other
   * queries, large bodies or several objects, and when the file is slow or cannot be read.
   */
  find(query: ListQuery, scope: RowScope, page: PageRequest): PointRead | undefined;
  /** The current state of the index. Undefined when the caller must ask a reader thread instead. */
  moment(): Moment | undefined;
  close(): void;
}

/** Bytes of the page cache. It holds the upper levels of the database indexes. */
const cacheBytes = 8 << 20;
/** Bytes. Larger bodies are left to the reader threads, because reading them may wait for the disk. */
const mostBytes = 64 << 10;
/** When this many objects in a cluster have the same name, a reader thread is asked, because they must be sorted. */
const mostNamed = 4;
/**
 * Milliseconds. A look-up that took longer than `slowMs` has waited for the disk or the CPU. After `mostSlow` such
 * look-ups in a row, the reader threads answer all of them for `restMs`.
 */
const slowMs = 20;
const mostSlow = 3;
const restMs = 5000;

type Found = readonly [
  sequence: number,
  rights: number,
  catalogVersion: number,
  slot: number | null,
  uid: string,
  bytes: number,
  raw: Uint8Array | null,
];

/**
 * Opens a connection for look-ups. If the file cannot be read, every look-up gives undefined, and the reader threads
 * report the error.
 * @param nowMs gives milliseconds of a clock that never goes back
 */
export function openPointReader(file: string, nowMs: () => number = () => performance.now()): PointReader {
  try {
    return new PointConnection(file, nowMs);
  } catch {
    return { find: () => undefined, moment: () => undefined, close: () => undefined };
  }
}

class PointConnection implements PointReader {
  readonly #db: DatabaseSync;
  readonly #byKey: StatementSync;
  readonly #byName: StatementSync;
  readonly #moment: StatementSync;
  readonly #catalogVersion: StatementSync;
  readonly #nowMs: () => number;
  #catalog = new Catalog();
  #slowInARow = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(file: string, nowMs: () => number) {
    const db = new DatabaseSync(file, { readOnly: true });
    // busy_timeout = 0: a look-up that meets a lock is left to the reader threads.
    db.exec(`PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0; PRAGMA trusted_schema = OFF`);
    db.exec(`PRAGMA cache_size = -${cacheBytes >> 10}`);
    this.#db = db;
    this.#nowMs = nowMs;
    this.#byKey = prepare(db, 'INDEXED BY obj_key ON o.t = ? AND o.place = ? AND o.name = ?');
    this.#byName = prepare(db, 'INDEXED BY obj_name ON o.t = ? AND o.name = ? AND o.place >= ? AND o.place < ?');
    this.#moment = db.prepare(
      `SELECT value AS sequence, (SELECT value FROM meta WHERE key = '${metaKey.rights}') AS rights
      FROM meta WHERE key = '${metaKey.sequence}'`,
    );
    this.#catalogVersion = db.prepare(`SELECT value FROM meta WHERE key = '${metaKey.catalog}'`);
  }

  find(query: ListQuery, scope: RowScope, page: PageRequest): PointRead | undefined {
    const point = pointOf(query, page);
    if (point === undefined) return undefined;
    return this.#quickly(() => {
      const read = this.#look(point, scope);
      if (read !== undefined) return read;
      this.#refresh();
      return this.#look(point, scope);
    });
  }

  moment(): Moment | undefined {
    return this.#quickly(() => this.#moment.get() as unknown as Moment);
  }

  close(): void {
    this.#db.close();
  }

  /** Runs the look-up. Undefined when it fails, or when the look-ups before were so slow that they are suspended. */
  #quickly<T>(look: () => T): T | undefined {
    const startedMs = this.#nowMs();
    if (startedMs < this.#restUntilMs) return undefined;
    try {
      return look();
    } catch {
      // The look-up met a lock, or an error that the reader threads will meet and report.
      return undefined;
    } finally {
      this.#noteTime(startedMs);
    }
  }

  #noteTime(startedMs: number): void {
    const endedMs = this.#nowMs();
    this.#slowInARow = endedMs - startedMs > slowMs ? this.#slowInARow + 1 : 0;
    if (this.#slowInARow < mostSlow) return;
    this.#slowInARow = 0;
    this.#restUntilMs = endedMs + restMs;
  }

  #refresh(): void {
    this.#db.exec('BEGIN');
    try {
      this.#catalog.refresh(this.#db, this.#catalogVersion.get()!.value as number);
    } catch (error) {
      // The catalog may have been read only in part.
      this.#catalog = new Catalog();
      throw error;
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /**
   * Looks up the object. Undefined when the statements saw different states of the index, or when a reader thread must
   * be asked.
   */
  #look(point: Point, scope: RowScope): PointRead | undefined {
    const t = this.#catalog.types.get(point.type) ?? none;
    let sequence: number | undefined;
    let rights = 0;
    const rows: RowRead[] = [];
    for (const incarnation of this.#catalog.ofCluster(point.cluster)) {
      const grant = scope.grants.get(incarnation.id)?.get(point.type) ?? noGrant;
      const isOutside = point.namespace !== undefined && !grantAllows(grant, point.namespace, point.name);
      const found = this.#lookUp(isOutside ? none : t, incarnation, point);
      // When the version or the sequence differs, the catalog is outdated, or something was committed between two
      // statements.
      const [foundAt, rightsAt, catalogVersion] = found[0]!;
      if (catalogVersion !== this.#catalog.version || (sequence ??= foundAt) !== foundAt) return undefined;
      rights = rightsAt;
      if (found.length === mostNamed) return undefined;
      for (const [, , , slot, uid, , raw] of found) {
        if (slot === null) continue;
        const { namespace } = this.#catalog.slot(slot);
        if (!grantAllows(grant, namespace, point.name)) continue;
        if (raw === null || rows.length > 0) return undefined;
        const { id, cluster } = incarnation;
        rows.push({ type: point.type, cluster, incarnation: id, namespace, name: point.name, uid, raw });
      }
    }
    return sequence === undefined ? undefined : { sequence, rights, rows };
  }

  #lookUp(t: number, { number }: IncarnationRecord, { namespace, name }: Point): readonly Found[] {
    if (namespace === undefined) {
      const first = number * slotsPerIncarnation;
      return this.#byName.all(t, name, first, first + slotsPerIncarnation) as unknown as readonly Found[];
    }
    const slot = this.#catalog.slotsOf.get(number)!.get(namespace)?.number ?? none;
    return this.#byKey.all(t, slot, name) as unknown as readonly Found[];
  }
}

/** A number that no type and no slot has. Statements find no row with it. */
const none = -1;

/**
 * Prepares a statement that always gives at least one row: without an object the columns of the object are null, but
 * the row still has the sequence and the version of the catalog.
 */
function prepare(db: DatabaseSync, on: string): StatementSync {
  const statement = db.prepare(
    `SELECT s.value, (SELECT value FROM meta WHERE key = '${metaKey.rights}'),
    (SELECT value FROM meta WHERE key = '${metaKey.catalog}'), o.place, o.uid, length(b.raw),
    CASE WHEN length(b.raw) <= ${mostBytes} THEN b.raw END
    FROM meta s LEFT JOIN obj o ${on} LEFT JOIN body b ON b.id = o.id WHERE s.key = '${metaKey.sequence}' LIMIT ${mostNamed}`,
  );
  statement.setReturnArrays(true);
  return statement;
}
