// Reads one object by its whole key on the main thread: a look-up takes some ten microseconds, less than asking another
// thread. The main thread may not stall, so nothing here waits for a lock, reads a large body or sorts; questions that
// need more are left to the readers.
import { DatabaseSync, type StatementSync } from 'node:sqlite';

import type { ListQuery } from '../../../query/list-query.ts';
import { grantAllows, noGrant } from '../../../rights/grants.ts';
import type { RowScope } from '../../../rights/scope.ts';
import { typeKey } from '../../../types.ts';
import type { PageRequest, RowRead } from '../../store.ts';
import { Catalog, type IncarnationRecord } from '../catalog.ts';
import { metaKey, slotsPerIncarnation } from '../schema.ts';
import type { Moment } from '../transaction.ts';

/** What was found at one moment. */
export interface PointRead extends Moment {
  /** None or one. */
  readonly rows: readonly RowRead[];
}

export interface PointReader {
  /**
   * Undefined for what a reader must be asked: other questions, large bodies, several objects, a file that is slow or
   * cannot be read.
   */
  find(query: ListQuery, scope: RowScope, page: PageRequest): PointRead | undefined;
  /** What a reading of now sees; undefined where `find` would be. */
  moment(): Moment | undefined;
  close(): void;
}

/** Holds the upper levels of the indexes. */
const cacheBytes = 8 << 20;
/** A larger body is left to the readers, who may wait for the disk. */
const mostBytes = 64 << 10;
/** With so many objects of one name in a cluster the readers are asked, who know how to order them. */
const mostNamed = 4;
/**
 * A look-up that took so long waited for a disk or a processor; after so many in a row the readers are asked for a
 * while.
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

/** One object's key; without a namespace its name in any of them. */
interface Point {
  readonly type: string;
  readonly cluster: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * Opens a connection of its own. A file that cannot be read is left to the readers, which report it.
 * @param nowMs of a monotonic clock
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
    // No waiting for locks: a look-up that meets one is left to the readers.
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

  /** Undefined where a look-up failed, and for a while after look-ups were slow. */
  #quickly<T>(look: () => T): T | undefined {
    const startedMs = this.#nowMs();
    if (startedMs < this.#restUntilMs) return undefined;
    try {
      return look();
    } catch {
      // A lock, or a fault that the readers meet as well and know how to report.
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
      // The catalog may hold half of what was added.
      this.#catalog = new Catalog();
      throw error;
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /** Undefined when its statements did not all see one state, or when there is more to read than belongs here. */
  #look(point: Point, scope: RowScope): PointRead | undefined {
    const t = this.#catalog.types.get(point.type) ?? none;
    let sequence: number | undefined;
    let rights = 0;
    const rows: RowRead[] = [];
    for (const incarnation of this.#catalog.ofCluster(point.cluster)) {
      const grant = scope.grants.get(incarnation.id)?.get(point.type) ?? noGrant;
      const isOutside = point.namespace !== undefined && !grantAllows(grant, point.namespace, point.name);
      const found = this.#lookUp(isOutside ? none : t, incarnation, point);
      // The catalog is old, or there was a commit between two statements.
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

/** No type and no slot has this number. */
const none = -1;

/** Gives at least one row; where there is no object its slot is null, and it still says sequence and catalog. */
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

/** The one object a query names; undefined when it may be about more, or has other conditions. */
function pointOf(query: ListQuery, { limit, offset = 0, after }: PageRequest): Point | undefined {
  const { types, clusters, namespaces, names } = query;
  if (types.length !== 1 || clusters?.length !== 1 || names?.length !== 1) return undefined;
  if (namespaces !== undefined && namespaces.length !== 1) return undefined;
  if (limit === 0 || offset !== 0 || after !== undefined) return undefined;
  const { nameContains, text, labels, fields, anyOf, notClusters, notNamespaces, notNames } = query;
  const conditions = [nameContains, text, labels, fields, anyOf, notClusters, notNamespaces, notNames];
  if (conditions.some((some) => some !== undefined && some.length > 0)) return undefined;
  const { uids, owner, createdSinceMs, createdBeforeMs } = query;
  if ([uids, owner, createdSinceMs, createdBeforeMs].some((one) => one !== undefined)) return undefined;
  return { type: typeKey(types[0]!), cluster: clusters[0]!, namespace: namespaces?.[0], name: names[0]! };
}
