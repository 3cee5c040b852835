// Which clusters something has changed in, in the order of the changes. Each reader keeps only how far it has read, so
// a change costs the same however many users have rights that may depend on it.
import type { SubjectKey } from './rbac.ts';

/** A change in one cluster. */
export interface ClusterChange {
  /** Of the cluster's record. */
  readonly uid: string;
  /** Only users with one of these keys may be affected; undefined: anybody. */
  readonly subjects: ReadonlySet<SubjectKey> | undefined;
}

/** Older changes than so many are forgotten. */
const mostKept = 20_000;

/** See the file comment. */
export class ChangeJournal {
  #changes: ClusterChange[] = [];
  /** Position before the first change. */
  #base = 0;

  /** After the last change. */
  get position(): number {
    return this.#base + this.#changes.length;
  }

  add(change: ClusterChange): void {
    this.#changes.push(change);
    if (this.#changes.length <= mostKept) return;
    const dropped = this.#changes.length >> 1;
    this.#changes = this.#changes.slice(dropped);
    this.#base += dropped;
  }

  /** Any cluster may have changed. */
  addAll(): void {
    this.#base = this.position + 1;
    this.#changes = [];
  }

  /** What has changed since; undefined: any cluster may have. */
  since(position: number): readonly ClusterChange[] | undefined {
    return position < this.#base ? undefined : this.#changes.slice(position - this.#base);
  }
}
