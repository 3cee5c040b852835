// A set of requests that are under way: an array in which each entry knows its index, and the last entry takes the
// index of one that leaves. It is no Set or Map on purpose: each time one of those grows, its old table stays behind
// with the entries of that moment and a pointer to the new one. Once such a table is old, V8's collector of the young
// generation keeps all of them, with every request (measured: a quarter of all that requests allocate, and nearly all
// work of the collector).

/** What an entry keeps for its set; an entry is in one set at most. */
export interface InSlot {
  /** Written by the set alone. */
  place?: number;
}

/** In no order. */
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

  /** A copy, because entries leave while it is walked over. */
  values(): readonly T[] {
    return [...this.entries];
  }
}
