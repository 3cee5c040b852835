// Reads bodies of a page's keys, a bounded chunk a transaction, as they were when the page was planned. Easy to get wrong: a row that has changed
// since is taken from the log, so that a list and a watch from its resourceVersion neither repeat nor miss a change.
import type { TypeKey } from '../../types.ts';
import { changeKind, metaKey } from './schema.ts';
import type { Session } from './session.ts';

/** Some rows of a page, packed. */
export interface BodyChunk {
  /** How many ids of those asked for are done; rows that are gone are missing from `rows`. */
  readonly done: number;
  readonly places: readonly ChunkPlace[];
  readonly types: readonly TypeKey[];
  readonly rows: readonly ChunkRow[];
  /** With a comma before each: what goes on as a list is sent as it is. */
  readonly bodies: Uint8Array;
}

export type ChunkPlace = readonly [cluster: string, incarnation: string, namespace: string];

/** Positions in `types` and `places`, then what the row says of itself. */
export type ChunkRow = readonly [type: number, place: number, name: string, uid: string, bytes: number];

/** A chunk ends with the row that reaches this. */
export const chunkBytes = 1 << 20;
const chunkRows = 1000;
const comma = 0x2c;
/** Read by one statement at first, and at most once it is known how large rows are. */
const firstRows = 16;
const mostRows = 256;

interface StoredRow {
  readonly t: number;
  readonly place: number;
  readonly name: string;
  readonly uid: string;
  readonly bytes: number;
  /** Undefined where it is read later. */
  readonly raw: Uint8Array | undefined;
}

/** @param sequence of the page */
export function readBodies(session: Session, ids: Float64Array, sequence: number): BodyChunk {
  const changed =
    session.sequence === sequence ? undefined : changesSince(session, ids.subarray(0, chunkRows), sequence);
  const isOfNow = changed === undefined || changed.size === 0;
  const rows: ChunkRow[] = [];
  const types = new Numbering<number>();
  const places = new Numbering<number>();
  const before: Uint8Array[] = [];
  let bytes = 0;
  let done = 0;
  while (done < ids.length && done < chunkRows && bytes < chunkBytes) {
    const some = ids.subarray(done, done + countOfNext(rows.length, bytes));
    done += some.length;
    for (const row of isOfNow ? readHeads(session, some) : readRows(session, some, changed)) {
      bytes += row.bytes;
      if (row.raw !== undefined) before.push(row.raw);
      rows.push([types.of(row.t), places.of(row.place), row.name, row.uid, row.bytes]);
    }
  }
  const { catalog } = session;
  return {
    done,
    types: types.values.map((t) => catalog.typeKeys.get(t)!),
    places: places.values.map((number) => {
      const { incarnation, namespace } = catalog.place(number);
      return [incarnation.cluster, incarnation.id, namespace];
    }),
    rows,
    bodies: isOfNow ? joinedBodies(session, ids.subarray(0, done)) : packed(before, bytes),
  };
}

/** One after the other as SQLite joins them, which is one piece of memory for all: none is made and thrown away for each row. */
function joinedBodies({ sql }: Session, ids: Float64Array): Uint8Array {
  const [joined] = sql.first<[Uint8Array | null]>(
    `SELECT CAST(group_concat(',' || b.raw, '') AS BLOB) FROM json_each(?) j CROSS JOIN body b ON b.id = j.value`,
    [JSON.stringify(Array.from(ids))],
  )!;
  return joined ?? new Uint8Array();
}

function packed(bodies: readonly Uint8Array[], bytes: number): Uint8Array {
  // Not filled with zeros first, and not of a pool: it is handed over.
  const all = Buffer.allocUnsafeSlow(bytes + bodies.length);
  let at = 0;
  for (const body of bodies) {
    all[at] = comma;
    all.set(body, at + 1);
    at += 1 + body.byteLength;
  }
  return all;
}

/** As many as the rest of the chunk holds, if rows go on as they were. */
function countOfNext(rows: number, bytes: number): number {
  if (rows === 0) return firstRows;
  return Math.max(1, Math.min(mostRows, Math.ceil(((chunkBytes - bytes) * rows) / Math.max(1, bytes))));
}

/** Rows in the order of the ids, without bodies; those that are gone are missing. */
function readHeads({ sql }: Session, ids: Float64Array): readonly StoredRow[] {
  const rows = sql.all<[number, number, string, string, number]>(
    `SELECT o.t, o.place, o.name, o.uid, length(b.raw) FROM json_each(?) j
    CROSS JOIN obj o NOT INDEXED ON o.id = j.value CROSS JOIN body b ON b.id = o.id`,
    [JSON.stringify(Array.from(ids))],
  );
  return rows.map(([t, place, name, uid, bytes]) => ({ t, place, name, uid, bytes, raw: undefined }));
}

/** Rows in the order of the ids, those that changed as they were before; those that are gone are missing. */
function readRows(session: Session, ids: Float64Array, changed: ReadonlyMap<number, number>): readonly StoredRow[] {
  const current = session.sql.all<[number, number, number, string, string, Uint8Array]>(
    `SELECT o.id, o.t, o.place, o.name, o.uid, b.raw FROM json_each(?) j
    CROSS JOIN obj o NOT INDEXED ON o.id = j.value CROSS JOIN body b ON b.id = o.id`,
    [JSON.stringify(Array.from(ids))],
  );
  const byId = new Map(
    current.map(([id, t, place, name, uid, raw]) => [id, { t, place, name, uid, raw, bytes: raw.byteLength }]),
  );
  return [...ids].flatMap((id) => {
    const change = changed.get(id);
    return (change === undefined ? byId.get(id) : rowBefore(session, change)) ?? [];
  });
}

/** The first change of each of these rows since; none when the log does not reach back so far. */
function changesSince({ sql }: Session, ids: Float64Array, sequence: number): ReadonlyMap<number, number> {
  const trimmed = sql.first<[number]>('SELECT value FROM meta WHERE key = ?', [metaKey.trimmed])![0];
  if (trimmed > sequence) return new Map();
  const rows = sql.all<[number, number]>(
    `SELECT c.id, min(c.sequence) FROM json_each(?) j CROSS JOIN change c INDEXED BY change_id
    ON c.id = j.value AND c.sequence > ? GROUP BY c.id`,
    [JSON.stringify([...ids]), sequence],
  );
  return new Map(rows);
}

/** Undefined for one that did not exist before. */
function rowBefore({ sql }: Session, change: number): StoredRow | undefined {
  const [kind, t, place, name, uid] = sql.first<[number, number, number, string, string]>(
    'SELECT kind, t, place, name, uid FROM change WHERE sequence = ?',
    [change],
  )!;
  if (kind === changeKind.added) return undefined;
  const [raw] = sql.first<[Uint8Array]>('SELECT raw FROM change_body WHERE sequence = ?', [change])!;
  return { t, place, name, uid, raw, bytes: raw.byteLength };
}

class Numbering<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<T, number>();

  of(value: T): number {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = this.values.push(value) - 1;
      this.#numbers.set(value, number);
    }
    return number;
  }
}
