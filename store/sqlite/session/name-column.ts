// The names of all objects of a type in one buffer, to search for parts of names. With 668,000 objects this shortens a
// count by a part of a name from 49 to 8.6 ms and from 43 to 6.6 ms (docs/performance.md). Names follow each other
// without a separator, so a match that spans two names must be ignored.
import type { SlotNumbers } from './slot-numbers.ts';
import type { Remembered } from './remembered.ts';
import { changeKind } from '../tables/schema.ts';
import type { Transaction } from '../tables/transaction.ts';
import { changesOfType } from './type-changes.ts';

/** Types beyond this limit are not kept in memory. The unit is that of {@link Remembered.size}. */
const mostSize = 2_000_000;
const bytesOfNumber = 16;
const rowsAtOnce = 5000;
/**
 * The most additions and deletions that are read from the change log. With more, reading all names again is cheaper.
 */
const mostChanges = 50_000;
/** A share of the rows. When more of them than this were deleted, all names are read again. */
const mostGone = 1 / 4;
const growth = 1.5;

type Row = readonly [name: string, slot: number, id: number];

export class NameColumn implements Remembered {
  readonly #t: number;
  readonly #numbers: SlotNumbers;
  #sequence: number | undefined;
  /**
   * The highest id when reading began. Objects with higher ids were added later; they are taken from the change log.
   */
  #lastId = 0;
  #lastRead: Row = ['', 0, 0];
  #rows = 0;
  /** All names one after the other, in UTF-8. Only the first `#end` bytes are in use. */
  #text = Buffer.alloc(rowsAtOnce);
  /** For each row, where its name ends in #text. */
  #ends = new Uint32Array(rowsAtOnce);
  /** For each row, the number of its namespace slot, as given by {@link SlotNumbers}. */
  #slots = new Uint32Array(rowsAtOnce);
  #ids = new Float64Array(rowsAtOnce);
  /** Ids of deleted objects. Their names are still in the buffer, and are ignored. */
  readonly #gone = new Set<number>();

  constructor(t: number, numbers: SlotNumbers) {
    this.#t = t;
    this.#numbers = numbers;
  }

  get size(): number {
    return this.#rows + Math.ceil(this.#end / bytesOfNumber) + 1;
  }

  get #end(): number {
    return this.#rows === 0 ? 0 : this.#ends[this.#rows - 1]!;
  }

  build({ sql, sequence }: Transaction, untilMs: number): 'done' | 'more' | 'too large' {
    if (this.#sequence === undefined) {
      this.#sequence = sequence;
      this.#lastId = sql.first<[number | null]>('SELECT max(id) FROM obj', [])![0] ?? 0;
    }
    for (;;) {
      const [name, slot] = this.#lastRead;
      const some = sql.all<Row>(
        `SELECT o.name, o.place, o.id FROM obj o INDEXED BY obj_name
        WHERE o.t = ? AND (o.name, o.place) > (?, ?) ORDER BY o.name, o.place LIMIT ?`,
        [this.#t, name, slot, rowsAtOnce],
      );
      for (const row of some) if (row[2] <= this.#lastId) this.#append(row);
      if (this.size > mostSize) return 'too large';
      if (some.length < rowsAtOnce) return 'done';
      this.#lastRead = some.at(-1)!;
      if (performance.now() > untilMs) return 'more';
    }
  }

  refresh(session: Transaction): boolean {
    const changes = changesOfType(session, this.#t, this.#sequence!, { most: mostChanges, isOfNames: true });
    if (changes === undefined) return false;
    for (const { kind, name, slot, id } of changes) {
      if (kind === changeKind.deleted) this.#gone.add(id);
      // The id of a deleted object now belongs to another object, so ids no longer tell which names must be ignored.
      // The names must be read again.
      else if (this.#gone.has(id)) return false;
      else this.#append([name, slot, id]);
    }
    this.#sequence = session.sequence;
    return this.#gone.size <= rowsAtOnce + this.#rows * mostGone && this.size <= mostSize;
  }

  /**
   * Calls `visit` for each row whose name contains all parts.
   * @param parts none of them empty
   * @param visit gets the number of the row's slot, as given by {@link SlotNumbers}
   */
  find(parts: readonly string[], visit: (slot: number) => void): void {
    const [longest, ...others] = parts
      .map((part) => Buffer.from(part))
      .toSorted((one, other) => other.length - one.length);
    const text = this.#text.subarray(0, this.#end);
    const ends = this.#ends;
    let row = 0;
    for (let at = text.indexOf(longest!); at >= 0;) {
      row = this.#rowAt(at, row);
      const end = ends[row]!;
      const isWithin = at + longest!.length <= end;
      if (isWithin && !this.#gone.has(this.#ids[row]!)) {
        const name = others.length === 0 ? text : text.subarray(row === 0 ? 0 : ends[row - 1]!, end);
        if (others.every((part) => name.includes(part))) visit(this.#slots[row]!);
      }
      at = text.indexOf(longest!, isWithin ? end : at + 1);
    }
  }

  /**
   * The row whose name contains the byte at `at`.
   * @param row the row itself or an earlier one, where the search begins
   */
  #rowAt(at: number, row: number): number {
    const ends = this.#ends;
    let step = 1;
    while (row + step < this.#rows && ends[row + step - 1]! <= at) step *= 2;
    let low = row + (step >> 1);
    let high = Math.min(row + step, this.#rows - 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #append([name, slot, id]: Row): void {
    const row = this.#rows;
    const from = this.#end;
    // UTF-8 needs at most three bytes for each unit of UTF-16.
    const room = from + 3 * name.length;
    if (room > this.#text.length) {
      const larger = Buffer.alloc(Math.ceil(room * growth));
      this.#text.copy(larger);
      this.#text = larger;
    }
    if (row === this.#ends.length) {
      const rows = Math.ceil(row * growth);
      this.#ends = grown(this.#ends, rows);
      this.#slots = grown(this.#slots, rows);
      this.#ids = grown(this.#ids, rows);
    }
    this.#ends[row] = from + this.#text.write(name, from);
    this.#slots[row] = this.#numbers.of(slot);
    this.#ids[row] = id;
    this.#rows = row + 1;
  }
}

function grown<Numbers extends Uint32Array | Float64Array>(numbers: Numbers, length: number): Numbers {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length);
  larger.set(numbers);
  return larger;
}
