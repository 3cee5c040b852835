// Queues writes in the order in which they came. Deleting the rows of an incarnation (a cluster from its creation until
// it is recreated) takes many transactions, and other incarnations are written in between. Within one incarnation the
// order is kept: batches that came before the deletion are committed before it, and batches that came after it wait
// until the deletion is complete.
import type { Commit } from '../../store.ts';
import type { Result, Writer } from '../write/writer.ts';
import type { PackedBatch } from '../tables/messages.ts';

/** The most bytes of bodies in one transaction. The writer may stop earlier when it takes too long. */
const mostBytes = 64 << 20;

interface Waiting {
  /** Id of the incarnation that is written or deleted. */
  readonly incarnation: string;
  readonly resolve: (commit: Commit) => void;
  readonly reject: (error: unknown) => void;
}

interface WaitingBatch extends Waiting {
  readonly batch: PackedBatch;
}

interface WaitingForget extends Waiting {
  readonly batch: undefined;
  readonly type: string | undefined;
  deleted: number;
}

/** Queues batches and deletions. Each call of {@link WriteQueue.turn} writes some of them. */
export class WriteQueue {
  readonly #writer: Pick<Writer, 'apply' | 'forget'>;
  readonly #onWork: () => void;
  #queue: (WaitingBatch | WaitingForget)[] = [];

  /** @param onWork called when there is something to write; it must arrange a later call of `turn` */
  constructor(writer: Pick<Writer, 'apply' | 'forget'>, onWork: () => void) {
    this.#writer = writer;
    this.#onWork = onWork;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** Resolves when the batch is committed. Rejects with the writer's error. */
  apply(batch: PackedBatch): Promise<Commit> {
    return this.#wait((waiting) => ({ ...waiting, batch, incarnation: batch.incarnation.id }));
  }

  /** Resolves when the last row is deleted, with the number of deleted rows. Rejects with the writer's error. */
  forget(incarnation: string, type: string | undefined): Promise<Commit> {
    return this.#wait((waiting) => ({ ...waiting, batch: undefined, incarnation, type, deleted: 0 }));
  }

  /**
   * Commits the batches that can share a transaction. Then runs one transaction of the oldest deletion that need not
   * wait for a batch.
   */
  turn(): void {
    this.#commit(this.#nextBatches());
    const forget = this.#nextForget();
    if (forget !== undefined) this.#forgetSome(forget);
    if (!this.isEmpty) this.#onWork();
  }

  /** Commits all batches that do not wait for a deletion, and rejects all other writes with `reason`. */
  close(reason: Error): void {
    for (;;) {
      const batches = this.#nextBatches();
      if (batches.length === 0) break;
      this.#commit(batches);
    }
    for (const { reject } of this.#queue.splice(0)) reject(reason);
  }

  #wait(make: (waiting: Omit<Waiting, 'incarnation'>) => WaitingBatch | WaitingForget): Promise<Commit> {
    return new Promise((resolve, reject) => {
      this.#queue.push(make({ resolve, reject }));
      if (this.#queue.length === 1) this.#onWork();
    });
  }

  /** The oldest batches, without those that wait for a deletion of their incarnation. */
  #nextBatches(): readonly WaitingBatch[] {
    const next: WaitingBatch[] = [];
    const blocked = new Set<string>();
    let bytes = 0;
    for (const waiting of this.#queue) {
      if (waiting.batch === undefined) blocked.add(waiting.incarnation);
      else if (!blocked.has(waiting.incarnation)) {
        bytes += waiting.batch.bodies.byteLength;
        if (next.length > 0 && bytes > mostBytes) break;
        next.push(waiting);
      }
    }
    return next;
  }

  /** The oldest deletion that no batch of its incarnation precedes in the queue. */
  #nextForget(): WaitingForget | undefined {
    const written = new Set<string>();
    for (const waiting of this.#queue) {
      if (waiting.batch !== undefined) written.add(waiting.incarnation);
      else if (!written.has(waiting.incarnation)) return waiting;
    }
    return undefined;
  }

  #commit(batches: readonly WaitingBatch[]): void {
    if (batches.length === 0) return;
    let results: readonly Result[];
    try {
      results = this.#writer.apply(batches.map(({ batch }) => batch));
    } catch (error) {
      // The rollback has failed, too, so the file must be badly damaged. All batches are rejected.
      results = batches.map(() => ({ error }));
    }
    for (const [i, result] of results.entries()) {
      const done = batches[i]!;
      this.#remove(done);
      if ('commit' in result) done.resolve(result.commit);
      else done.reject(result.error);
    }
  }

  #forgetSome(forget: WaitingForget): void {
    try {
      const { commit, isDone } = this.#writer.forget(forget.incarnation, forget.type);
      forget.deleted += commit.deleted;
      if (!isDone) return;
      this.#remove(forget);
      forget.resolve({ ...commit, deleted: forget.deleted });
    } catch (error) {
      this.#remove(forget);
      forget.reject(error);
    }
  }

  #remove(waiting: WaitingBatch | WaitingForget): void {
    this.#queue.splice(this.#queue.indexOf(waiting), 1);
  }
}
