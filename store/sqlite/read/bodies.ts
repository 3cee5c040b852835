// Reads the bodies (the JSON of the objects) of a page in chunks, each in its own transaction, as they were when the
// page's keys were read. A row that has changed since is read from the change log. So a list, and a watch from the
// list's resourceVersion, together show every change exactly once.
import type { TypeKey } from '../../../query/types.ts';
import type { RowRead } from '../../store.ts';
import { changeKind, metaKey } from '../tables/schema.ts';
import type { Session } from '../session/session.ts';

/**
 * Some rows of a page, packed to be sent between threads. Texts stay as SQLite wrote them until {@link rowsOfChunk}
 * reads them.
 */
export interface BodyChunk {
  /**
   * How many of the given ids the chunk covers. It can be more than the number of rows, because deleted rows are left
   * out.
   */
  readonly done: number;
  readonly slots: readonly ChunkSlot[];
  readonly types: readonly TypeKey[];
  /** For each row: its index in `types`, its index in `slots`, and the length of its body. */
  readonly typeOf: readonly number[];
  readonly slotOf: readonly number[];
  readonly bytes: readonly number[];
  /** Names and uids of the rows, each as a JSON array. */
  readonly names: string;
  readonly uids: string;
  /**
   * The bodies one after the other, each with a comma before it. So they can be sent as a JSON list without being
   * copied.
   */
  readonly bodies: Uint8Array;
}

export type ChunkSlot = readonly [cluster: string, incarnation: string, namespace: string];

/** A chunk of rows ends with the row with which its bodies reach this number of bytes. */
export const chunkBytes = 1 << 20;
const chunkRows = 1000;
const comma = 0x2c;
/**
 * How many rows one statement reads. A chunk begins with `firstHeads` rows without bodies, or `firstRows` rows with
 * bodies. Later the average size of the rows so far decides, with `mostRows` as the limit.
 */
const firstHeads = 64;
const firstRows = 16;
const mostRows = 256;

/**
 * The columns of some rows without their bodies: the numbers of types and namespace slots, lengths of bodies, names and
 * uids.
 */
interface Heads {
  readonly t: readonly number[];
  readonly slot: readonly number[];
  readonly bytes: readonly number[];
  /** Names and uids of the rows, each as a JSON array. */
  readonly names: string;
  readonly uids: string;
}

/** Unpacks the rows of a chunk. */
export function rowsOfChunk(chunk: BodyChunk): readonly RowRead[] {
  const { types, slots, typeOf, slotOf, bytes, bodies } = chunk;
  const names = JSON.parse(chunk.names) as readonly string[];
  const uids = JSON.parse(chunk.uids) as readonly string[];
  let at = 0;
  return names.map((name, row) => {
    const [cluster, incarnation, namespace] = slots[slotOf[row]!]!;
    // Skips the comma before the body.
    const raw = bodies.subarray(at + 1, at + 1 + bytes[row]!);
    at += 1 + bytes[row]!;
    return { type: types[typeOf[row]!]!, cluster, incarnation, namespace, name, uid: uids[row]!, raw };
  });
}

/**
 * Reads the first chunk of these rows.
 * @param sequence when the page's keys were read: microseconds since 1970
 */
export function readBodies(session: Session, ids: Float64Array, sequence: number): BodyChunk {
  const some = ids.subarray(0, chunkRows);
  const changed = session.sequence === sequence ? new Map<number, number>() : changesSince(session, some, sequence);
  return changed.size === 0 ? readNow(session, some) : readBefore(session, some, changed);
}

/** Reads the rows as they are now, not as they were when the page's keys were read. */
function readNow(session: Session, ids: Float64Array): BodyChunk {
  const packer = new Packer();
  let done = 0;
  while (done < ids.length && packer.bytes < chunkBytes) {
    const count = Math.min(ids.length - done, countOfNext(packer, firstHeads));
    const heads = readHeads(session, ids.subarray(done, done + count));
    const wanted = countUpTo(chunkBytes - packer.bytes, heads.bytes);
    // When fewer rows were found than asked for, some were deleted. It is unknown which ones, so the columns cannot be
    // cut at an id.
    const isCut = wanted < count && heads.t.length === count;
    packer.add(isCut ? firstOf(heads, wanted) : heads);
    done += isCut ? wanted : count;
  }
  return packer.chunk(session, done, joinedBodies(session, ids.subarray(0, done)));
}

/**
 * Reads the rows as they were when the page's keys were read.
 * @param changed sequence (commit time) of the first change since then, by row id
 */
function readBefore(session: Session, ids: Float64Array, changed: ReadonlyMap<number, number>): BodyChunk {
  const packer = new Packer();
  const bodies: Uint8Array[] = [];
  let done = 0;
  while (done < ids.length && packer.bytes < chunkBytes) {
    const count = Math.min(ids.length - done, countOfNext(packer, firstRows));
    const rows = readRows(session, ids.subarray(done, done + count), changed);
    done += count;
    packer.add({
      t: rows.map(({ t }) => t),
      slot: rows.map(({ slot }) => slot),
      bytes: rows.map(({ raw }) => raw.byteLength),
      names: JSON.stringify(rows.map(({ name }) => name)),
      uids: JSON.stringify(rows.map(({ uid }) => uid)),
    });
    for (const { raw } of rows) bodies.push(raw);
  }
  return packer.chunk(session, done, packed(bodies, packer.bytes));
}

/** Collects the columns of rows, and makes a chunk of them. */
class Packer {
  readonly #types = new Numbering<number>();
  readonly #slots = new Numbering<number>();
  readonly #typeOf: number[] = [];
  readonly #slotOf: number[] = [];
  readonly #bytes: number[] = [];
  readonly #names: string[] = [];
  readonly #uids: string[] = [];
  bytes = 0;

  get rows(): number {
    return this.#bytes.length;
  }

  add({ t, slot, bytes, names, uids }: Heads): void {
    for (const [row, length] of bytes.entries()) {
      this.#typeOf.push(this.#types.of(t[row]!));
      this.#slotOf.push(this.#slots.of(slot[row]!));
      this.#bytes.push(length);
      this.bytes += length;
    }
    if (bytes.length === 0) return;
    this.#names.push(names.slice(1, -1));
    this.#uids.push(uids.slice(1, -1));
  }

  chunk({ catalog }: Session, done: number, bodies: Uint8Array): BodyChunk {
    return {
      done,
      types: this.#types.values.map((t) => catalog.typeKeys.get(t)!),
      slots: this.#slots.values.map((number) => {
        const { incarnation, namespace } = catalog.slot(number);
        return [incarnation.cluster, incarnation.id, namespace];
      }),
      typeOf: this.#typeOf,
      slotOf: this.#slotOf,
      bytes: this.#bytes,
      names: `[${this.#names.join()}]`,
      uids: `[${this.#uids.join()}]`,
      bodies,
    };
  }
}

/** How many rows it takes to reach `most` bytes; all rows when together they have fewer bytes. */
function countUpTo(most: number, bytes: readonly number[]): number {
  let sum = 0;
  for (const [row, length] of bytes.entries()) if ((sum += length) >= most) return row + 1;
  return bytes.length;
}

function firstOf({ t, slot, bytes, names, uids }: Heads, count: number): Heads {
  const first = (json: string): string => JSON.stringify((JSON.parse(json) as readonly string[]).slice(0, count));
  return {
    t: t.slice(0, count),
    slot: slot.slice(0, count),
    bytes: bytes.slice(0, count),
    names: first(names),
    uids: first(uids),
  };
}

/** The bodies, joined into one buffer by SQLite. Fetching one buffer for each row would be slower. */
function joinedBodies({ sql }: Session, ids: Float64Array): Uint8Array {
  const [joined] = sql.first<[Uint8Array | null]>(
    `SELECT CAST(group_concat(',' || b.raw, '') AS BLOB) FROM json_each(?) j CROSS JOIN body b ON b.id = j.value`,
    [JSON.stringify(Array.from(ids))],
  )!;
  return joined ?? new Uint8Array();
}

function packed(bodies: readonly Uint8Array[], bytes: number): Uint8Array {
  // A buffer of its own, not a part of Node's pool, because it is transferred to another thread. It is not zeroed
  // first.
  const all = Buffer.allocUnsafeSlow(bytes + bodies.length);
  let at = 0;
  for (const body of bodies) {
    all[at] = comma;
    all.set(body, at + 1);
    at += 1 + body.byteLength;
  }
  return all;
}

/** How many rows to read next to fill the chunk, if they are as large as the rows so far. */
function countOfNext({ rows, bytes }: Packer, first: number): number {
  if (rows === 0) return first;
  return Math.max(1, Math.min(mostRows, Math.ceil(((chunkBytes - bytes) * rows) / Math.max(1, bytes))));
}

/** Columns of the rows in the order of the ids. Deleted rows are left out. */
function readHeads({ sql }: Session, ids: Float64Array): Heads {
  // SQLite makes a JSON list of each column, because fetching each value by itself takes longer.
  const [t, slot, bytes, names, uids] = sql.first<[string, string, string, string, string]>(
    `SELECT json_group_array(o.t), json_group_array(o.place), json_group_array(length(b.raw)), json_group_array(o.name),
    json_group_array(o.uid) FROM json_each(?) j
    CROSS JOIN obj o NOT INDEXED ON o.id = j.value CROSS JOIN body b ON b.id = o.id`,
    [JSON.stringify(Array.from(ids))],
  )!;
  const numbers = (json: string): readonly number[] => JSON.parse(json) as readonly number[];
  return { t: numbers(t), slot: numbers(slot), bytes: numbers(bytes), names, uids };
}

interface StoredRow {
  readonly t: number;
  readonly slot: number;
  readonly name: string;
  readonly uid: string;
  readonly raw: Uint8Array;
}

/**
 * Rows in the order of the ids. A changed row is given as it was before the change. Rows that were deleted before, and
 * rows that were added since, are left out.
 */
function readRows(session: Session, ids: Float64Array, changed: ReadonlyMap<number, number>): readonly StoredRow[] {
  const current = session.sql.all<[number, number, number, string, string, Uint8Array]>(
    `SELECT o.id, o.t, o.place, o.name, o.uid, b.raw FROM json_each(?) j
    CROSS JOIN obj o NOT INDEXED ON o.id = j.value CROSS JOIN body b ON b.id = o.id`,
    [JSON.stringify(Array.from(ids))],
  );
  const byId = new Map(current.map(([id, t, slot, name, uid, raw]) => [id, { t, slot, name, uid, raw }]));
  return [...ids].flatMap((id) => {
    const change = changed.get(id);
    return (change === undefined ? byId.get(id) : rowBefore(session, change)) ?? [];
  });
}

/**
 * The first change since `sequence` of each row that has changed. Empty when the change log does not reach back that
 * far; then the rows are read as they are now.
 */
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

/** The row as it was before a change; undefined when the change has added the row. */
function rowBefore({ sql }: Session, change: number): StoredRow | undefined {
  const [kind, t, slot, name, uid] = sql.first<[number, number, number, string, string]>(
    'SELECT kind, t, place, name, uid FROM change WHERE sequence = ?',
    [change],
  )!;
  if (kind === changeKind.added) return undefined;
  const [raw] = sql.first<[Uint8Array]>('SELECT raw FROM change_body WHERE sequence = ?', [change])!;
  return { t, slot, name, uid, raw };
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
