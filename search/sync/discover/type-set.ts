// The followers of one incarnation, made to agree with what is chosen of what the member serves. Easy to get wrong: a
// type that discovery does not name may be gone, or its server may be down; rows are deleted only when the member
// itself says 404 to it.
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

export interface TypeSetOptions extends Pick<FollowOptions, 'verify' | 'onState' | 'random' | 'now' | 'limits'> {
  readonly incarnation: Incarnation;
  readonly ask: AskMember;
  /** Each type is read by its own choice of them. */
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
  const { incarnation, store, timing, ask, signal } = options;
  const followers = new Map<TypeKey, Followed>();
  const lists: Gate = makeGate(listsAtOnce);
  const budget: ByteBudget = makeByteBudget(heldBytes);
  const readers = new Map<TypeKey, MemberReader>();
  let turn = 0;

  /**
   * The same for as long as this life of the member lasts: a follower that is begun anew reads as the one before did
   * last.
   */
  function readerOf(key: TypeKey): MemberReader {
    const reader = readers.get(key) ?? makeReader(options.asks, () => outdate(key));
    readers.set(key, reader);
    return reader;
  }

  function outdate(key: TypeKey): void {
    const followed = followers.get(key);
    if (followed === undefined) return;
    followed.isOutdated = true;
    options.onOtherReader();
  }

  async function storedTypes(): Promise<ReadonlyMap<TypeKey, StoredType>> {
    const all = await store.types();
    return new Map(
      all.filter((each) => each.incarnation.id === incarnation.id).map((each) => [typeKey(each.type), each]),
    );
  }

  /** The member itself says that it has no such type. */
  async function isGone(type: TypeInfo): Promise<boolean> {
    try {
      await currentVersion({ ask, incarnation, type, filter: {}, timing, signal });
    } catch (error) {
      return error instanceof SyncSetback && error.fault.reason === 'Missing';
    }
    return false;
  }

  function start(
    { type, isChosen, filter }: ChosenType,
    stored: StoredType | undefined,
    signature: string,
    listsAnew: boolean,
  ): void {
    const key = typeKey(type);
    const reader = readerOf(key);
    const paths = indexedPaths(type);
    const redacts = key === 'secrets.';
    const keptAs = JSON.stringify([documentForm, paths, redacts, filter]);
    const follower = startFollower({
      ...options,
      type: Object.freeze({ ...type, keptAs }),
      isChosen,
      filter,
      stored,
      listsAnew,
      ask: reader.ask,
      isAtomic: rightsKeys.has(key),
      reader: makeDocumentReader({ cluster: incarnation.cluster, type, paths, redacts }),
      lists,
      budget,
      onObject: rightsKeys.has(key) ? (what, object) => options.onObject(key, what, object) : undefined,
    });
    followers.set(key, { follower, reader, filter, signature, isOutdated: false });
  }

  return {
    async follow(chosen, isAbsent) {
      const wanted = new Map(chosen.map((each) => [typeKey(each.type), each]));
      const signatures = new Map([...wanted].map(([key, each]) => [key, JSON.stringify(each)]));
      const ended = [...followers].filter(([key, each]) => signatures.get(key) !== each.signature || each.isOutdated);
      const listedAnew = new Set(ended.filter(([, { isOutdated }]) => isOutdated).map(([key]) => key));
      await Promise.all(
        ended.map(async ([key, { follower }]) => {
          if (!wanted.has(key) && isAbsent(key) && !(await isGone(follower.type))) return;
          await follower.close();
          followers.delete(key);
        }),
      );
      const stored = await storedTypes();
      for (const [key, { type }] of stored) {
        if (wanted.has(key) || followers.has(key) || (isAbsent(key) && !(await isGone(type)))) continue;
        await store.forget(incarnation.id, type);
      }
      signal.throwIfAborted();
      // First what decides rights, for its lists are first in the line then.
      const inOrder = [...wanted].sort(([one], [other]) => Number(rightsKeys.has(other)) - Number(rightsKeys.has(one)));
      for (const [key, each] of inOrder) {
        if (!followers.has(key)) start(each, stored.get(key), signatures.get(key)!, listedAnew.has(key));
      }
      if (ended.length > 0) options.onState();
    },
    async reconsiderReaders(asksAll) {
      const others = [...followers].filter(([, { reader }]) => reader.as() !== (options.asks.as ?? indexName));
      // Another one first each time: what is granted is seldom granted of one type alone.
      for (const [key, each] of rotated(others, (turn += 1))) {
        if (signal.aborted) return;
        if (await each.reader.comesBack(readingOf(each, timing, signal))) outdate(key);
        else if (!asksAll) return;
      }
    },
    states: () =>
      [...followers.values()].map(({ follower, reader }) =>
        Object.freeze({ ...follower.state(), readAs: reader.as() }),
      ),
    get size() {
      return followers.size;
    },
    of: (key) => followers.get(key)?.follower,
    async close() {
      await Promise.all([...followers.values()].map(({ follower }) => follower.close()));
    },
  };
}

interface Followed {
  readonly follower: Follower;
  readonly reader: MemberReader;
  readonly filter: TypeFilter;
  readonly signature: string;
  /** It is read as somebody else than it was listed as, and begun anew. */
  isOutdated: boolean;
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
