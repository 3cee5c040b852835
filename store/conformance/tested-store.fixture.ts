// A store under test. A shared store can only be written with a lease, so all writes of the tests go through this
// class.
import type { BodyLimits } from '../body-budget.ts';
import type { Commit, IndexStore, RowRead, ShardWriter, WriteBatch } from '../store.ts';
import type { Page } from '../store.ts';
import type { ResourceType } from '../../query/types.ts';

/** What the test of a store provides. */
export interface OpenedStore {
  readonly store: IndexStore;
  /** Closes the store and opens it again with the same data. */
  readonly reopen: () => Promise<IndexStore>;
  /**
   * For a shared store: takes the lease of the incarnation's shard for a new term, so that its previous holder can no
   * longer write.
   */
  readonly lease?: (incarnation: string) => Promise<ShardWriter>;
  /** Closes the store and removes its data. */
  readonly remove: () => Promise<void>;
}

export interface OpenOptions {
  readonly bodyLimits?: BodyLimits;
}

/** Opens an empty store; each call gives another one. */
export type OpenStore = (options?: OpenOptions) => Promise<OpenedStore>;

/** A store with the leases that its test has taken. */
export class TestedStore {
  readonly #opened: OpenedStore;
  readonly #writers = new Map<string, ShardWriter>();
  store: IndexStore;

  constructor(opened: OpenedStore) {
    this.#opened = opened;
    this.store = opened.store;
  }

  static async open(open: OpenStore, options?: OpenOptions): Promise<TestedStore> {
    return new TestedStore(await open(options));
  }

  /** Whether the store has leases. */
  get hasLeases(): boolean {
    return this.#opened.lease !== undefined;
  }

  /** Takes the lease for an incarnation, so that the test can write it. Undefined for a store of one process. */
  async lease(incarnation: string): Promise<ShardWriter | undefined> {
    const writer = await this.#opened.lease?.(incarnation);
    if (writer !== undefined) this.#writers.set(incarnation, writer);
    return writer;
  }

  /**
   * Writes a batch with the lease of its incarnation. The store is called before this returns, so the order of calls is
   * kept.
   */
  apply(batch: WriteBatch): Promise<Commit> {
    return this.store.apply(batch, this.#writers.get(batch.incarnation.id));
  }

  /** Deletes an incarnation, or one type in it, with the lease. */
  forget(incarnation: string, type?: ResourceType): Promise<Commit> {
    return this.store.forget(incarnation, type, this.#writers.get(incarnation));
  }

  /** Writes batches in order, taking the leases they need. */
  async fill(batches: readonly WriteBatch[]): Promise<void> {
    for (const id of new Set(batches.map(({ incarnation }) => incarnation.id))) await this.lease(id);
    for (const batch of batches) await this.apply(batch);
  }

  async reopen(): Promise<void> {
    this.store = await this.#opened.reopen();
  }

  remove(): Promise<void> {
    return this.#opened.remove();
  }
}

/** Reads all rows of a page. */
export async function rowsOf(page: Page): Promise<RowRead[]> {
  const rows: RowRead[] = [];
  for await (const chunk of page.chunks) rows.push(...chunk);
  return rows;
}
