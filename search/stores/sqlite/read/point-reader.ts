// Reads one object by its whole key on the thread that asks: a look-up takes some ten microseconds, less than asking
// another thread for it. Easy to get wrong: the main thread may not stall, so nothing here waits for a lock, reads a
// large body or sorts; whatever is more is left to the readers.
import { DatabaseSync, type StatementSync } from 'node:sqlite';

import type { ListQuery } from '../../../query/list-query.ts';
import { grantAllows, noGrant } from '../../../rights/grants.ts';
import type { RowScope } from '../../../rights/scope.ts';
import { typeKey } from '../../../types.ts';
import type { PageRequest, RowRead } from '../../store.ts';
import { Catalog, type IncarnationRecord } from '../catalog.ts';
import { metaKey, slotsPerIncarnation } from '../schema.ts';

/** What was found at one moment. */
export interface PointRead {
  /** Time of the last commit it sees, microseconds. */
  readonly sequence: number;
  /** None or one. */
  readonly rows: readonly RowRead[];
}

export interface PointReader {
  /**
   * Undefined for what a reader must be asked: other questions, large bodies, several objects, a file that is slow or
   * cannot be read.
   */
  readonly find: (query: ListQuery, scope: RowScope, page: PageRequest) => PointRead | undefined;
  readonly close: () => void;
}

/** The upper levels of the trees it walks. */
const cacheBytes = 8 << 20;
/** A larger body is read where waiting for it hurts nobody. */
const mostBytes = 64 << 10;
/** Of one name in a cluster's namespaces; the readers know how to order them. */
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
  catalogVersion: number,
  slot: number | null,
  uid: string,
  bytes: number,
  raw: Uint8Array | null,
];

/** One object's key, or its name in whatever namespace. */
interface Point {
  readonly type: string;
  readonly cluster: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * Opens a connection of its own; a file that cannot be read is left to the readers, who tell of it. @param nowMs of a
 * monotonic clock
 */
export function openPointReader(file: string, nowMs: () => number = () => performance.now()): PointReader {
  try {
    return openConnection(file, nowMs);
  } catch {
    return { find: () => undefined, close: () => undefined };
  }
}

function openConnection(file: string, nowMs: () => number): PointReader {
  const db = new DatabaseSync(file, { readOnly: true });
  // No waiting for locks: a look-up that meets one is left to the readers.
  db.exec(`PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0; PRAGMA trusted_schema = OFF`);
  db.exec(`PRAGMA cache_size = -${cacheBytes >> 10}`);
  const byKey = prepare(db, 'INDEXED BY obj_key ON o.t = ? AND o.place = ? AND o.name = ?');
  const byName = prepare(db, 'INDEXED BY obj_name ON o.t = ? AND o.name = ? AND o.place >= ? AND o.place < ?');
  const version = db.prepare(`SELECT value FROM meta WHERE key = '${metaKey.catalog}'`);
  let catalog = new Catalog();
  let slowInARow = 0;
  let restUntilMs = Number.NEGATIVE_INFINITY;

  const refresh = (): void => {
    db.exec('BEGIN');
    try {
      catalog.refresh(db, version.get()!.value as number);
    } catch (error) {
      // It may hold half of what was added.
      catalog = new Catalog();
      throw error;
    } finally {
      db.exec('COMMIT');
    }
  };
  /** All statements of it see one state, or it is made again by a reader. */
  const look = (point: Point, scope: RowScope): PointRead | undefined => {
    const t = catalog.types.get(point.type) ?? none;
    let sequence: number | undefined;
    const rows: RowRead[] = [];
    for (const incarnation of catalog.ofCluster(point.cluster)) {
      const grant = scope.grants.get(incarnation.id)?.get(point.type) ?? noGrant;
      const isOutside = point.namespace !== undefined && !grantAllows(grant, point.namespace, point.name);
      const found = lookUp(isOutside ? none : t, incarnation, point);
      // The catalog is old, or there was a commit between two statements.
      if (found[0]![1] !== catalog.version || (sequence ??= found[0]![0]) !== found[0]![0]) return undefined;
      if (found.length === mostNamed) return undefined;
      for (const [, , slot, uid, , raw] of found) {
        if (slot === null) continue;
        const { namespace } = catalog.slot(slot);
        if (!grantAllows(grant, namespace, point.name)) continue;
        if (raw === null || rows.length > 0) return undefined;
        const { id, cluster } = incarnation;
        rows.push({ type: point.type, cluster, incarnation: id, namespace, name: point.name, uid, raw });
      }
    }
    return sequence === undefined ? undefined : { sequence, rows };
  };
  const lookUp = (t: number, { number }: IncarnationRecord, { namespace, name }: Point): readonly Found[] => {
    if (namespace === undefined) {
      const first = number * slotsPerIncarnation;
      return byName.all(t, name, first, first + slotsPerIncarnation) as unknown as readonly Found[];
    }
    const slot = catalog.slotsOf.get(number)!.get(namespace)?.number ?? none;
    return byKey.all(t, slot, name) as unknown as readonly Found[];
  };
  return {
    find: (query, scope, page) => {
      const point = pointOf(query, page);
      const startedMs = nowMs();
      if (point === undefined || startedMs < restUntilMs) return undefined;
      try {
        const read = look(point, scope);
        if (read !== undefined) return read;
        refresh();
        return look(point, scope);
      } catch {
        // A lock, or a fault that the readers meet as well and know how to tell of.
        return undefined;
      } finally {
        const endedMs = nowMs();
        slowInARow = endedMs - startedMs > slowMs ? slowInARow + 1 : 0;
        if (slowInARow === mostSlow) {
          slowInARow = 0;
          restUntilMs = endedMs + restMs;
        }
      }
    },
    close: () => db.close(),
  };
}

/** Number of nothing. */
const none = -1;

/** One row at least, whose slot is null when there is no object: what else was true at that moment must be known. */
function prepare(db: DatabaseSync, on: string): StatementSync {
  const statement = db.prepare(
    `SELECT s.value, (SELECT value FROM meta WHERE key = '${metaKey.catalog}'), o.place, o.uid, length(b.raw),
    CASE WHEN length(b.raw) <= ${mostBytes} THEN b.raw END
    FROM meta s LEFT JOIN obj o ${on} LEFT JOIN body b ON b.id = o.id WHERE s.key = '${metaKey.sequence}' LIMIT ${mostNamed}`,
  );
  statement.setReturnArrays(true);
  return statement;
}

/** The one object a query can be about; undefined when it may be about more, or says more than which one. */
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
