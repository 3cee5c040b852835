// Runs one follower (list and watch) for each selected type of a cluster, and starts and ends followers when the
// selection or the cluster's types change. A type that is missing in discovery may only be unavailable for a while. Its
// rows are deleted only when the cluster answers 404 to a list of it.
import type { IndexStore, StoredType } from '../../store/store.ts';
import { indexedPaths } from '../../store/indexed-paths.ts';
import { typeKey, type Incarnation, type TypeInfo, type TypeKey } from '../../query/types.ts';
import { makeByteBudget, makeGate, type ByteBudget, type Gate } from '../../lib/concurrency/gates.ts';
import { makeDocumentReader } from '../document/document.ts';
import { startFollower, type Follower } from '../follow/follow.ts';
import type { FollowOptions } from '../follow/following.ts';
import { currentVersion } from '../follow/relist.ts';
import { rowForm } from '../../store/row-form.ts';
import { formOf, isKeptUnder, keptAsOf, mayBeNewer, mixedOptions } from './kept-as.ts';
import { rightsTypes, type ChosenType } from './selection.ts';
import { SyncSetback } from '../member/member-faults.ts';
import { typePath } from '../member/member-paths.ts';
import { type ReadAs } from '../member/sync-types.ts';
import { makeReader, type MemberAsks, type MemberReader } from '../member/read-as.ts';
import type { AskMember, MemberQuestion, SyncTiming, TypeFilter, TypeState } from '../member/sync-types.ts';

/**
 * Maximum number of lists of one cluster at the same time, and maximum number of bytes of its changes that wait to be
 * committed. At these limits, further lists wait, and reading from the cluster pauses.
 */
const listsAtOnce = 4;
const heldBytes = 16 * 1024 * 1024;

const rightsKeys: ReadonlySet<TypeKey> = new Set(rightsTypes.map(typeKey));

export interface TypeSetOptions extends Pick<
  FollowOptions,
  'verify' | 'onState' | 'onFenced' | 'random' | 'now' | 'limits' | 'writer'
> {
  readonly incarnation: Incarnation;
  readonly ask: AskMember;
  /**
   * The functions that send requests to the member cluster. Which of their identities is used is decided for each type
   * separately.
   */
  readonly asks: MemberAsks;
  readonly store: Pick<IndexStore, 'types' | 'versions' | 'apply' | 'forget'>;
  /** Limits how many lists run at the same time, for all clusters together. */
  readonly lists: Gate;
  readonly timing: SyncTiming;
  /**
   * Called with each object of a type that decides access (RBAC objects, namespaces, CRDs) that is listed or changes.
   */
  readonly onObject: (key: TypeKey, type: 'there' | 'gone', object: Buffer) => void;
  /**
   * Called when a type must be listed again: it is read with another identity now, or its rows are to be written in
   * another format. The next call of `follow` lists it.
   */
  readonly onOutdated: () => void;
  readonly signal: AbortSignal;
}

/** The followers of one cluster: one list and watch for each type. */
export interface TypeSet {
  /**
   * Starts a follower for each chosen type that has none. Ends the followers of types that are not chosen any more, and
   * deletes their rows. The follower of a type that is chosen differently now, or is outdated, is replaced.
   * @param isAbsent returns true for a type that discovery did not mention. It may exist nevertheless, so its rows are
   * deleted only when the cluster answers 404 to a list
   */
  follow(chosen: readonly ChosenType[], isAbsent: (key: TypeKey) => boolean): Promise<void>;
  /**
   * Tries whether `portcullis:index` may now read the types that are read with the gateway's own credential.
   * @param asksAll true after a change of rights: all types are tried. False: the first refusal ends the attempt
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
  /**
   * True when the type must be listed again: another identity reads it now than when it was listed, or its rows were
   * written by a newer version of Portcullis and are now to be written in the format of this version.
   */
  isOutdated: boolean;
}

class FollowedTypes implements TypeSet {
  readonly #options: TypeSetOptions;
  readonly #followers = new Map<TypeKey, Followed>();
  readonly #lists: Gate;
  readonly #budget: ByteBudget = makeByteBudget(heldBytes);
  /**
   * The identity with which each type is listed and watched. It is kept here and not in the follower of the type, so
   * that a follower that is started again begins with the identity that was used last.
   */
  readonly #readers = new Map<TypeKey, MemberReader>();
  #turn = 0;

  constructor(options: TypeSetOptions) {
    this.#options = options;
    const own = makeGate(listsAtOnce);
    this.#lists = { run: (signal, work) => own.run(signal, () => options.lists.run(signal, work)) };
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
    // Types that decide access come first, so that their lists are also first in the queue.
    const inOrder = [...wanted].sort(([one], [other]) => Number(rightsKeys.has(other)) - Number(rightsKeys.has(one)));
    for (const [key, each] of inOrder) {
      if (!this.#followers.has(key)) this.#start(each, stored.get(key), signatures.get(key)!, listedAnew.has(key));
    }
    if (ended.length > 0) this.#options.onState();
  }

  async reconsiderReaders(asksAll: boolean): Promise<void> {
    const { asks, timing, signal } = this.#options;
    const others = [...this.#followers].filter(([, { reader }]) => reader.as() !== (asks.as ?? indexName));
    // Each attempt starts with another type, so that one type that stays forbidden does not hide a new right to others.
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
    const { pruned = [] } = type;
    const form = formOf(stored?.type.keptAs);
    const isSameButForm = isSameExceptForm(stored?.type, type, filter);
    // During an upgrade, a replica of a newer version may soon take the cluster over again, and would have to write all
    // rows once more. A store without a lease has one process only, so no replica of another version uses it.
    const keepsForm = isSameButForm && !listsAnew && this.#options.writer !== undefined && mayBeNewer(form);
    const keptAs = keptAsOf(paths, redacts, filter, pruned, keepsForm ? -rowForm : rowForm);
    const oldest = Math.min(rowForm, Math.abs(form));
    const follower = startFollower({
      ...this.#options,
      type: Object.freeze({ ...type, keptAs }),
      isChosen,
      filter,
      stored,
      keepsForm,
      keptMeanwhile: keptAsOf(paths, redacts, isSameButForm ? filter : mixedOptions, pruned, -oldest),
      listsAnew,
      ask: reader.ask,
      isAtomic: rightsKeys.has(key),
      reader: makeDocumentReader({ cluster: incarnation.cluster, type, paths, redacts, pruned }),
      lists: this.#lists,
      budget: this.#budget,
      onObject: rightsKeys.has(key) ? (what, object) => onObject(key, what, object) : undefined,
    });
    this.#followers.set(key, { follower, reader, filter, signature, isOutdated: false });
    if (keepsForm) this.#rewriteLater(key, follower);
  }

  /**
   * Marks the type to be listed again after `otherFormMs` milliseconds. If a replica of the newer version takes the
   * cluster over before, this one stops following it and rewrites nothing.
   */
  #rewriteLater(key: TypeKey, follower: Follower): void {
    const { timing, signal } = this.#options;
    const timer = setTimeout(() => {
      if (this.#followers.get(key)?.follower === follower) this.#outdate(key);
    }, timing.otherFormMs).unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
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
    this.#options.onOutdated();
  }

  async #storedTypes(): Promise<ReadonlyMap<TypeKey, StoredType>> {
    const { store, incarnation } = this.#options;
    return new Map((await store.types(incarnation.id)).map((each) => [typeKey(each.type), each]));
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

  /** Whether the member cluster answers 404 to a list of the type. */
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

/**
 * Whether the rows of a stored type have the wanted version, filter and pruned fields, so that at most their row format
 * differs.
 */
function isSameExceptForm(
  stored: TypeInfo | undefined,
  { version, pruned = [] }: TypeInfo,
  filter: TypeFilter,
): boolean {
  if (stored?.keptAs === undefined) return false;
  return stored.version === version && isKeptUnder(stored.keptAs, filter, pruned);
}

const indexName: ReadAs = 'portcullis:index';

/**
 * The requests that listing and watching a type needs, as short as possible: a list of one object, and a watch of one
 * second. They test whether RBAC permits both.
 */
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
