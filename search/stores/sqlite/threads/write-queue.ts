// What waits to be written, in the order in which it came. A deletion of an incarnation takes many transactions; other
// incarnations are written between them, but nothing of the same one overtakes it: a batch that was sent before it is
// committed before it, and one that was sent after it is committed after its last transaction.
import type { Commit } from '../../store.ts';
import type { Result, Writer } from '../write/writer.ts';
import type { PackedBatch } from './messages.ts';

/** Bytes of one transaction; the writer stops earlier after some time. */
const mostBytes = 64 << 20;

interface Waiting {
  /** Id of the incarnation. */
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

/** See the file comment. Nothing is written before {@link WriteQueue.turn}. */
export class WriteQueue {
  readonly #writer: Pick<Writer, 'apply' | 'forget'>;
  readonly #onWork: () => void;
  #queue: (WaitingBatch | WaitingForget)[] = [];

  /** @param onWork called whenever there is something to write and no turn was asked for */
  constructor(writer: Pick<Writer, 'apply' | 'forget'>, onWork: () => void) {
    this.#writer = writer;
    this.#onWork = onWork;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** Resolves when it is committed. Rejects as the writer throws. */
  apply(batch: PackedBatch): Promise<Commit> {
    return this.#wait((waiting) => ({ ...waiting, batch, incarnation: batch.incarnation.id }));
  }

  /** Resolves when the last of the rows is deleted, with their number. Rejects as the writer throws. */
  forget(incarnation: string, type: string | undefined): Promise<Commit> {
    return this.#wait((waiting) => ({ ...waiting, batch: undefined, incarnation, type, deleted: 0 }));
  }

  /** Commits what may be committed together, then one transaction of the first deletion that is next for its rows. */
  turn(): void {
    this.#commit(this.#nextBatches());
    const forget = this.#nextForget();
    if (forget !== undefined) this.#forgetSome(forget);
    if (!this.isEmpty) this.#onWork();
  }

  /** Commits every batch that waits for no deletion; what is left is rejected. */
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

  /** The oldest batches, but for those behind a deletion of their incarnation. */
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

  /** The oldest deletion whose incarnation has no batch before it. */
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
      // The file is so damaged that not even a rollback works: each batch fails.
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
