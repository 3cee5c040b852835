// Which clusters something has changed in, in the order of the changes. Each reader keeps only how far it has read, so
// a change costs the same however many users have rights that may depend on it.

/** Older changes than so many are forgotten. */
const mostKept = 20_000;

/** See the file comment. */
export class ChangeJournal {
  #keys: string[] = [];
  /** Position before the first key. */
  #base = 0;

  /** After the last change. */
  get position(): number {
    return this.#base + this.#keys.length;
  }

  /** Something of this cluster has changed, or may have. */
  add(key: string): void {
    this.#keys.push(key);
    if (this.#keys.length <= mostKept) return;
    const dropped = this.#keys.length >> 1;
    this.#keys = this.#keys.slice(dropped);
    this.#base += dropped;
  }

  /** Any cluster may have changed. */
  addAll(): void {
    this.#base = this.position + 1;
    this.#keys = [];
  }

  /** Clusters that have changed since; undefined: all of them may have. */
  since(position: number): ReadonlySet<string> | undefined {
    return position < this.#base ? undefined : new Set(this.#keys.slice(position - this.#base));
  }
}
