// A store under test, with what a test may do to it. A shared store is written by the holder of a lease, so every write
// of a test goes through here.
import type { BodyLimits } from '../body-budget.ts';
import type { Commit, IndexStore, RowRead, ShardWriter, WriteBatch } from '../store.ts';
import type { Page } from '../store.ts';
import type { ResourceType } from '../../types.ts';

/** What a store's own test gives. */
export interface OpenedStore {
  readonly store: IndexStore;
  /** Closes the store and opens it again over what it has kept. */
  readonly reopen: () => Promise<IndexStore>;
  /** Of a shared store: takes the lease of an incarnation's shard for a new term, so that who had it is fenced. */
  readonly lease?: (incarnation: string) => Promise<ShardWriter>;
  /** Closes the store and removes what it has kept. */
  readonly remove: () => Promise<void>;
}

export interface OpenOptions {
  readonly bodyLimits?: BodyLimits;
}

/** Opens an empty store, another one each time. */
export type OpenStore = (options?: OpenOptions) => Promise<OpenedStore>;

/** See the file comment. */
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

  /** Whether writers can be fenced. */
  get hasLeases(): boolean {
    return this.#opened.lease !== undefined;
  }

  /** Lets this test write an incarnation; undefined for a store of one process. */
  async lease(incarnation: string): Promise<ShardWriter | undefined> {
    const writer = await this.#opened.lease?.(incarnation);
    if (writer !== undefined) this.#writers.set(incarnation, writer);
    return writer;
  }

  /** Asks the store before it returns, so that calls are in order. */
  apply(batch: WriteBatch): Promise<Commit> {
    return this.store.apply(batch, this.#writers.get(batch.incarnation.id));
  }

  /** As {@link apply}. */
  forget(incarnation: string, type?: ResourceType): Promise<Commit> {
    return this.store.forget(incarnation, type, this.#writers.get(incarnation));
  }

  /** Writes batches in order, with leases. */
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

/** All rows of a page. */
export async function rowsOf(page: Page): Promise<RowRead[]> {
  const rows: RowRead[] = [];
  for await (const chunk of page.chunks) rows.push(...chunk);
  return rows;
}
