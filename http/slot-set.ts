// A set of requests in progress: an array in which each entry stores its own index. A removed entry is replaced by the
// last one. A Set or Map would be slow here: each time it grows, V8 leaves its old table behind, with its entries and a
// pointer to the new table. Once such a table has moved to the old generation, the young-generation collector treats
// all these entries as alive. That cost a quarter of all memory that requests allocate, and nearly all collector time
// (measured).

/** What an entry stores for its set. An entry may be in one set at a time. */
export interface InSlot {
  /** Index of the entry in the array of its set; only the set may write it. */
  place?: number;
}

/** A set of entries in no defined order. Adding, removing and finding an entry take constant time. */
export class SlotSet<T extends InSlot> {
  protected readonly entries: T[] = [];

  get size(): number {
    return this.entries.length;
  }

  has(entry: T): boolean {
    return entry.place !== undefined && this.entries[entry.place] === entry;
  }

  add(entry: T): void {
    if (this.has(entry)) return;
    entry.place = this.entries.length;
    this.entries.push(entry);
  }

  delete(entry: T): void {
    if (!this.has(entry)) return;
    const last = this.entries.pop()!;
    if (last === entry) return;
    this.entries[entry.place!] = last;
    last.place = entry.place!;
  }

  /** A copy of the entries, safe to iterate while entries are removed. */
  values(): readonly T[] {
    return [...this.entries];
  }
}
