// Reads the change log, with the body (the object's JSON) before and after each change. The log stores only bodies
// before changes. The body after a change is the body before the object's next change, or else the current body. So all
// entries of one answer must be read in one transaction.
import { GatewayError } from '../../../model/errors.ts';
import type { TypeKey } from '../../../query/types.ts';
import type { LogEntry } from '../../store.ts';
import { changeKind, metaKey } from '../tables/schema.ts';
import type { Transaction } from '../tables/transaction.ts';

/** Bytes. When the bodies of one answer reach this size, the answer ends. */
const mostBytes = 8 << 20;

export interface Changes {
  readonly entries: readonly LogEntry[];
  /** True when the answer has ended early because of its size, and more entries follow. */
  readonly isCut: boolean;
}

/**
 * Log entries after a time, oldest first.
 * @param sinceUs in microseconds: the time of a change, or the time up to which old entries were deleted
 * @throws GatewayError EXPIRED when entries after that time were deleted, or this store has made no change at exactly
 *   that time
 */
export function readChanges(session: Transaction, sinceUs: number, types: readonly TypeKey[], limit: number): Changes {
  const { sql, catalog, versions } = session;
  if (!isInLog(session, sinceUs)) {
    const isOld = sinceUs < oldestSequence(session);
    throw new GatewayError(
      'EXPIRED',
      isOld
        ? 'the resourceVersion is older than what the index remembers: list again'
        : 'this index has not issued the resourceVersion: list again',
    );
  }
  const numbers = types.flatMap((type) => catalog.types.get(type) ?? []);
  const rows = sql.all<[number, number, number, number, string, string, number]>(
    `SELECT sequence, kind, t, place, name, uid, id FROM change
    WHERE sequence > ? AND t IN (SELECT value FROM json_each(?)) ORDER BY sequence LIMIT ?`,
    [sinceUs, JSON.stringify(numbers), limit],
  );
  const entries: LogEntry[] = [];
  let bytes = 0;
  for (const [sequence, kind, t, number, name, uid, id] of rows) {
    const { incarnation, namespace } = catalog.slot(number);
    const before = kind === changeKind.added ? undefined : keptBody(session, sequence);
    const after = kind === changeKind.deleted ? undefined : bodyAfter(session, id, sequence);
    entries.push({
      resourceVersion: versions.make(sequence),
      type: catalog.typeKeys.get(t)!,
      incarnation: incarnation.id,
      cluster: incarnation.cluster,
      namespace,
      name,
      uid,
      before,
      after,
    });
    bytes += (before?.byteLength ?? 0) + (after?.byteLength ?? 0);
    if (bytes >= mostBytes) break;
  }
  return { entries, isCut: entries.length < rows.length };
}

/**
 * Whether a client can resume from this time: this store has made a change at exactly this time, and all later changes
 * are in the log. A resourceVersion of another store passes the test of check digits once in a thousand times. Here it
 * is refused all the same, unless both stores made a change in the same microsecond.
 */
export function isInLog(session: Transaction, timeUs: number): boolean {
  if (timeUs === oldestSequence(session)) return true;
  return session.sql.first<[number]>('SELECT 1 FROM change WHERE sequence = ?', [timeUs]) !== undefined;
}

/** Microseconds since 1970. The log contains every change after this time. */
export function oldestSequence({ sql }: Transaction): number {
  return sql.first<[number]>('SELECT value FROM meta WHERE key = ?', [metaKey.trimmed])![0];
}

function keptBody({ sql }: Transaction, sequence: number): Uint8Array {
  return sql.first<[Uint8Array]>('SELECT raw FROM change_body WHERE sequence = ?', [sequence])![0];
}

function bodyAfter(session: Transaction, id: number, sequence: number): Uint8Array {
  const next = session.sql.first<[number]>(
    'SELECT sequence FROM change INDEXED BY change_id WHERE id = ? AND sequence > ? ORDER BY sequence LIMIT 1',
    [id, sequence],
  );
  if (next !== undefined) return keptBody(session, next[0]);
  return session.sql.first<[Uint8Array]>('SELECT raw FROM body WHERE id = ?', [id])![0];
}
