// A log of which clusters have changed. Each reader only keeps its position in the log, so adding a change takes the
// same time, however many users have rights in that cluster.
import type { SubjectKey } from './rbac/rbac.ts';

/** A change in one cluster that may alter rights in that cluster, such as a change of a RoleBinding. */
export interface ClusterChange {
  /** The uid of the cluster's record. */
  readonly uid: string;
  /** Keys of the users and groups whose rights may have changed; undefined when anybody's may have. */
  readonly subjects: ReadonlySet<SubjectKey> | undefined;
}

/** The journal keeps about this many changes; older ones are dropped. */
const mostKept = 20_000;

/** The changes of all clusters in order. Positions are numbers that only grow. */
export class ChangeJournal {
  #changes: ClusterChange[] = [];
  /** The position of the oldest change that is kept. */
  #base = 0;

  /** The position after the newest change; give it to {@link since} later. */
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

  /** Notes that every cluster may have changed: for earlier positions, `since` then returns undefined. */
  addAll(): void {
    this.#base = this.position + 1;
    this.#changes = [];
  }

  /** The changes after this position. Undefined when they were dropped: any cluster may have changed. */
  since(position: number): readonly ClusterChange[] | undefined {
    return position < this.#base ? undefined : this.#changes.slice(position - this.#base);
  }
}
