// What the store holds of the clusters. A fleet has tens of thousands of types: they are read again only when the
// catalog has changed. When types were last known to be up to date is read only for the incarnation (a cluster from its
// creation until it is recreated) that somebody asks about.
import { makeRecent } from '../lib/recent.ts';
import type { StoredTypes } from '../store/stored-types.ts';
import type { IndexStore, StoredType } from '../store/store.ts';
import { typeKey } from '../query/types.ts';
import type { Incarnation, TypeKey } from '../query/types.ts';

/**
 * One incarnation of a cluster (the cluster from its creation until it is recreated), with its types in the store. The
 * sync positions of the types may be outdated.
 */
export interface StoredIncarnation {
  readonly incarnation: Incarnation;
  readonly types: ReadonlyMap<TypeKey, StoredType>;
}

export interface StoredIncarnationsOptions {
  /** Reads all types of the store. */
  readonly types: StoredTypes;
  readonly store: Pick<IndexStore, 'types'>;
  /** Returns milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** When the rows of each type were last known to be up to date, in Unix milliseconds; 0 or absent for never. */
type Confirmations = ReadonlyMap<TypeKey, number>;

interface Remembered<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
}

const typesMaxAgeMs = 1_000;
const confirmationsMaxAgeMs = 10_000;
const rememberedConfirmations = 1_000;
/** After this number of types, other tasks of the event loop may run. */
const groupedInOneTurn = 5_000;

/** Reads and remembers what a store holds of the clusters. */
export class StoredIncarnations {
  readonly #options: StoredIncarnationsOptions;
  readonly #now: () => number;
  #current: Remembered<ReadonlyMap<string, StoredIncarnation>> | undefined;
  #grouped: { readonly from: readonly StoredType[]; readonly by: ReadonlyMap<string, StoredIncarnation> } | undefined;
  readonly #confirmations = makeRecent<Remembered<Confirmations>>({ maxEntries: rememberedConfirmations });

  constructor(options: StoredIncarnationsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * What the store holds, by incarnation id, at most one second old. It is the same map while the catalog of the store
   * has not changed. Rejects when the store cannot be read.
   */
  all(): Promise<ReadonlyMap<string, StoredIncarnation>> {
    const nowMs = this.#now();
    if (this.#current !== undefined && nowMs - this.#current.atMs < typesMaxAgeMs) return this.#current.value;
    const current = { value: this.#read(), atMs: nowMs };
    this.#current = current;
    current.value.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return current.value;
  }

  /**
   * When the types of an incarnation were last known to be up to date, as of at most ten seconds ago. Rejects when the
   * store cannot be read.
   */
  confirmations(incarnation: string): Promise<Confirmations> {
    const nowMs = this.#now();
    const known = this.#confirmations.get(incarnation);
    if (known !== undefined && nowMs - known.atMs < confirmationsMaxAgeMs) return known.value;
    const value = this.#options.store.types(incarnation).then(confirmationsOf);
    this.#confirmations.set(incarnation, { value, atMs: nowMs });
    value.catch(() => this.#confirmations.delete(incarnation));
    return value;
  }

  async #read(): Promise<ReadonlyMap<string, StoredIncarnation>> {
    const from = await this.#options.types();
    if (this.#grouped?.from !== from) this.#grouped = { from, by: await byIncarnation(from) };
    return this.#grouped.by;
  }
}

async function byIncarnation(types: readonly StoredType[]): Promise<ReadonlyMap<string, StoredIncarnation>> {
  const found = new Map<string, { incarnation: Incarnation; types: Map<TypeKey, StoredType> }>();
  for (const [index, stored] of types.entries()) {
    if (index > 0 && index % groupedInOneTurn === 0) await new Promise((resolve) => void setImmediate(resolve));
    const { incarnation } = stored;
    let entry = found.get(incarnation.id);
    if (entry === undefined) found.set(incarnation.id, (entry = { incarnation, types: new Map() }));
    entry.types.set(typeKey(stored.type), stored);
  }
  return found;
}

function confirmationsOf(types: readonly StoredType[]): Confirmations {
  return new Map(types.map(({ type, position }) => [typeKey(type), position.confirmedAtMs]));
}
