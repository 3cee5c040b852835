// The followers of one incarnation, made to agree with what is chosen of what the member serves. A type that discovery
// does not name may be gone, or its server may be down: rows are deleted only when the member itself says 404 to it.
import type { IndexStore, StoredType } from '../../stores/store.ts';
import { indexedPaths } from '../../stores/indexed-paths.ts';
import { typeKey, type Incarnation, type TypeInfo, type TypeKey } from '../../types.ts';
import { makeByteBudget, makeGate, type ByteBudget, type Gate } from '../follow/bounds.ts';
import { makeDocumentReader } from '../document/document.ts';
import { startFollower, type Follower } from '../follow/follow.ts';
import type { FollowOptions } from '../follow/following.ts';
import { currentVersion } from '../follow/relist.ts';
import { rightsTypes, type ChosenType } from './selection.ts';
import { SyncSetback } from '../member-faults.ts';
import { typePath } from '../member-paths.ts';
import { type ReadAs } from '../sync-types.ts';
import { makeReader, type MemberAsks, type MemberReader } from '../read-as.ts';
import type { AskMember, MemberQuestion, SyncTiming, TypeFilter, TypeState } from '../sync-types.ts';

/** Of one cluster: lists under way, and bytes read but not yet committed. */
const listsAtOnce = 4;
const heldBytes = 16 * 1024 * 1024;

/**
 * Another number makes rows of earlier processes be written anew: what `document.ts` makes of an object has changed.
 */
const documentForm = 1;

const rightsKeys: ReadonlySet<TypeKey> = new Set(rightsTypes.map(typeKey));

export interface TypeSetOptions extends Pick<
  FollowOptions,
  'verify' | 'onState' | 'onFenced' | 'random' | 'now' | 'limits' | 'writer'
> {
  readonly incarnation: Incarnation;
  readonly ask: AskMember;
  /** The ways to ask the member. For each type one of them is chosen separately. */
  readonly asks: MemberAsks;
  readonly store: IndexStore;
  readonly timing: SyncTiming;
  /** Of CRDs and RBAC objects only. */
  readonly onObject: (key: TypeKey, type: 'there' | 'gone', object: Buffer) => void;
  /** A type is read as somebody else from now on; the next `follow` begins it anew, with a list. */
  readonly onOtherReader: () => void;
  readonly signal: AbortSignal;
}

/** Followers by type. */
export interface TypeSet {
  /**
   * Starts what is missing, ends what is not chosen any more and forgets its rows.
   * @param absent whether discovery has said nothing of the type (it may still be there)
   */
  follow(chosen: readonly ChosenType[], isAbsent: (key: TypeKey) => boolean): Promise<void>;
  /**
   * Looks whether what is read as the gateway may be read as `portcullis:index` by now.
   * @param asksAll not only until the first refusal: rights have changed
   */
  reconsiderReaders(asksAll: boolean): Promise<void>;
  states(): readonly TypeState[];
  readonly size: number;
  of(key: TypeKey): Follower | undefined;
  close(): Promise<void>;
}

export function makeTypeSet(options: TypeSetOptions): TypeSet {
  return new FollowedTypes(options);
}

interface Followed {
  readonly follower: Follower;
  readonly reader: MemberReader;
  readonly filter: TypeFilter;
  readonly signature: string;
  /** It is read as somebody else than it was listed as, and begun anew. */
  isOutdated: boolean;
}

class FollowedTypes implements TypeSet {
  readonly #options: TypeSetOptions;
  readonly #followers = new Map<TypeKey, Followed>();
  readonly #lists: Gate = makeGate(listsAtOnce);
  readonly #budget: ByteBudget = makeByteBudget(heldBytes);
  /**
   * The same for as long as this life of the member lasts: a follower that is begun anew reads as the one before did
   * last.
   */
  readonly #readers = new Map<TypeKey, MemberReader>();
  #turn = 0;

  constructor(options: TypeSetOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#followers.size;
  }

  of(key: TypeKey): Follower | undefined {
    return this.#followers.get(key)?.follower;
  }

  states(): readonly TypeState[] {
    return [...this.#followers.values()].map(({ follower, reader }) =>
      Object.freeze({ ...follower.state(), readAs: reader.as() }),
    );
  }

  async follow(chosen: readonly ChosenType[], isAbsent: (key: TypeKey) => boolean): Promise<void> {
    const wanted = new Map(chosen.map((each) => [typeKey(each.type), each]));
    const signatures = new Map([...wanted].map(([key, each]) => [key, JSON.stringify(each)]));
    const ended = [...this.#followers].filter(
      ([key, each]) => signatures.get(key) !== each.signature || each.isOutdated,
    );
    const listedAnew = new Set(ended.filter(([, { isOutdated }]) => isOutdated).map(([key]) => key));
    await Promise.all(
      ended.map(async ([key, { follower }]) => {
        if (!wanted.has(key) && isAbsent(key) && !(await this.#isGone(follower.type))) return;
        await follower.close();
        this.#followers.delete(key);
      }),
    );
    const stored = await this.#storedTypes();
    await this.#forgetUnwanted(stored, wanted, isAbsent);
    this.#options.signal.throwIfAborted();
    // First what decides rights, for its lists are first in the line then.
    const inOrder = [...wanted].sort(([one], [other]) => Number(rightsKeys.has(other)) - Number(rightsKeys.has(one)));
    for (const [key, each] of inOrder) {
      if (!this.#followers.has(key)) this.#start(each, stored.get(key), signatures.get(key)!, listedAnew.has(key));
    }
    if (ended.length > 0) this.#options.onState();
  }

  async reconsiderReaders(asksAll: boolean): Promise<void> {
    const { asks, timing, signal } = this.#options;
    const others = [...this.#followers].filter(([, { reader }]) => reader.as() !== (asks.as ?? indexName));
    // Another one first each time: what is granted is seldom granted of one type alone.
    for (const [key, each] of rotated(others, (this.#turn += 1))) {
      if (signal.aborted) return;
      if (await each.reader.comesBack(readingOf(each, timing, signal))) this.#outdate(key);
      else if (!asksAll) return;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followers.values()].map(({ follower }) => follower.close()));
  }

  #start(
    { type, isChosen, filter }: ChosenType,
    stored: StoredType | undefined,
    signature: string,
    listsAnew: boolean,
  ): void {
    const { incarnation, onObject } = this.#options;
    const key = typeKey(type);
    const reader = this.#readerOf(key);
    const paths = indexedPaths(type);
    const redacts = key === 'secrets.';
    const keptAs = JSON.stringify([documentForm, paths, redacts, filter]);
    const follower = startFollower({
      ...this.#options,
      type: Object.freeze({ ...type, keptAs }),
      isChosen,
      filter,
      stored,
      listsAnew,
      ask: reader.ask,
      isAtomic: rightsKeys.has(key),
      reader: makeDocumentReader({ cluster: incarnation.cluster, type, paths, redacts }),
      lists: this.#lists,
      budget: this.#budget,
      onObject: rightsKeys.has(key) ? (what, object) => onObject(key, what, object) : undefined,
    });
    this.#followers.set(key, { follower, reader, filter, signature, isOutdated: false });
  }

  #readerOf(key: TypeKey): MemberReader {
    const reader = this.#readers.get(key) ?? makeReader(this.#options.asks, () => this.#outdate(key));
    this.#readers.set(key, reader);
    return reader;
  }

  #outdate(key: TypeKey): void {
    const followed = this.#followers.get(key);
    if (followed === undefined) return;
    followed.isOutdated = true;
    this.#options.onOtherReader();
  }

  async #storedTypes(): Promise<ReadonlyMap<TypeKey, StoredType>> {
    const { store, incarnation } = this.#options;
    const all = await store.types();
    return new Map(
      all.filter((each) => each.incarnation.id === incarnation.id).map((each) => [typeKey(each.type), each]),
    );
  }

  async #forgetUnwanted(
    stored: ReadonlyMap<TypeKey, StoredType>,
    wanted: ReadonlyMap<TypeKey, ChosenType>,
    isAbsent: (key: TypeKey) => boolean,
  ): Promise<void> {
    const { store, writer, incarnation } = this.#options;
    for (const [key, { type }] of stored) {
      if (wanted.has(key) || this.#followers.has(key) || (isAbsent(key) && !(await this.#isGone(type)))) continue;
      await store.forget(incarnation.id, type, writer);
    }
  }

  /** The member itself says that it has no such type. */
  async #isGone(type: TypeInfo): Promise<boolean> {
    const { ask, incarnation, timing, signal } = this.#options;
    try {
      await currentVersion({ ask, incarnation, type, filter: {}, timing, signal });
    } catch (error) {
      return error instanceof SyncSetback && error.fault.reason === 'Missing';
    }
    return false;
  }
}

const indexName: ReadAs = 'portcullis:index';

/** What following a type takes: a list and a watch. */
function readingOf({ follower, filter }: Followed, timing: SyncTiming, signal: AbortSignal): readonly MemberQuestion[] {
  const limits = { headTimeoutMs: timing.headTimeoutMs, signal };
  const list = typePath(follower.type, filter, { limit: '1' });
  const watch = typePath(follower.type, filter, { watch: 'true', timeoutSeconds: '1' });
  return [
    { path: list, wholeTimeoutMs: timing.headTimeoutMs, ...limits },
    { path: watch, isWatch: true, ...limits },
  ];
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
