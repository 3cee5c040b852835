// Tells all processes that share one index how complete and up to date the copies of clusters in it are. The process
// that writes the index follows the clusters and sends its state to the others, which answer with the state they
// received. A process that becomes the writer continues from the sync positions in the store.
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../model/errors.ts';
import type { IndexPeers } from './peers.ts';
import { recordUidOf, typeKey, type ResourceType, type TypeKey } from '../../query/types.ts';
import type { ClusterState, PartState, SyncHandle } from '../member/sync-types.ts';
import { partOf, publishedState, type PublishedState } from '../shards/published-state.ts';

export interface SharedSyncOptions {
  readonly peers: IndexPeers;
  /** Resolves when this process has become the one that writes the index. */
  readonly writing: Promise<void>;
  /** Begins to follow the clusters. */
  readonly start: () => Promise<SyncHandle>;
  /** Called when the clusters cannot be followed: the index must be closed and started again. */
  readonly onBroken: (error: unknown) => void;
}

/** Changes of state within this many milliseconds are sent together. */
const gatherMs = 100;
/**
 * The interval, in milliseconds, at which the state of the copies is sent to the other processes in any case: no
 * listener is called when only the progress of a list changes, or the time at which a copy was last known to be
 * current.
 */
const publishEveryMs = 2_000;
/**
 * The interval, in milliseconds, at which a process asks for the state until it gets one, at most `longestAsks` times;
 * then its start fails. A running writer answers at once; without a writer, one of the processes will soon become it.
 */
const askEveryMs = 500;
const longestAsks = 40;

/**
 * Resolves when this process follows the clusters itself, or has received the state from the process that does.
 * @throws GatewayError (rejects) with code INDEX_UNAVAILABLE when no state arrives for a long time, or the gateway is
 *   shutting down
 */
export async function startSharedSync(options: SharedSyncOptions): Promise<SyncHandle> {
  const sync = new SharedSync(options);
  try {
    await sync.known;
    return sync;
  } catch (error) {
    await sync.close();
    throw error;
  }
}

class SharedSync implements SyncHandle {
  readonly known: Promise<void>;
  readonly #options: SharedSyncOptions;
  readonly #known = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  readonly #endMessages: () => void;
  readonly #asking: NodeJS.Timeout;
  #own: SyncHandle | undefined;
  #starting: Promise<void>;
  #telling: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** The state that was last sent, or last received from the writer, by uid of the cluster record. */
  #published = new Map<string, PublishedState>();
  #isClosed = false;

  constructor(options: SharedSyncOptions) {
    const { peers, writing, onBroken } = options;
    this.#options = options;
    this.known = this.#known.promise;
    this.#endMessages = peers.onMessage((message) => {
      if (message.kind === 'states') this.#take(message);
      else if (this.#own !== undefined) this.#tellAll();
    });
    let asks = 0;
    const ask = (): void => {
      asks += 1;
      if (asks > longestAsks || peers.isEnding())
        this.#known.reject(new GatewayError('INDEX_UNAVAILABLE', 'no process of the gateway follows the clusters'));
      else peers.send({ kind: 'states-wanted' });
    };
    this.#asking = setInterval(ask, askEveryMs).unref();
    ask();
    this.#starting = writing
      .then(() => this.#begin())
      .catch((error: unknown) => {
        this.#known.reject(error);
        onBroken(error);
      });
  }

  state(): readonly ClusterState[] {
    return this.#own?.state() ?? [...this.#published.values()].map(({ state }) => state);
  }

  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[] {
    return this.#own?.stateOf(types) ?? [...this.#published.values()].map((reported) => partOf(reported, types));
  }

  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined {
    if (this.#own !== undefined) return this.#own.confirmedAtMs(incarnation, type);
    const reported = this.#published.get(recordUidOf(incarnation));
    if (reported?.state.incarnation?.id !== incarnation) return undefined;
    return reported.types.get(typeKey(type))?.confirmedAtMs;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async rebuild(uid: string): Promise<boolean> {
    return (await this.#own?.rebuild(uid)) ?? false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endMessages();
    for (const timer of [this.#asking, this.#telling, this.#gathering]) clearTimeout(timer);
    // When following has not begun, `#starting` may never resolve, so it is not awaited.
    if (this.#own !== undefined || this.#isBeginning) await this.#starting;
    await this.#own?.close();
  }

  #isBeginning = false;

  async #begin(): Promise<void> {
    if (this.#isClosed) return;
    this.#isBeginning = true;
    const own = await this.#options.start();
    this.#own = own;
    clearInterval(this.#asking);
    if (this.#isClosed) return;
    own.onChange(() => {
      this.#gathering ??= setTimeout(() => this.#tell(), gatherMs).unref();
      this.#changed();
    });
    this.#telling = setInterval(() => this.#tell(), publishEveryMs).unref();
    this.#tellAll();
    this.#known.resolve();
    this.#changed();
  }

  #tellAll(): void {
    this.#published = new Map();
    this.#tell();
  }

  #tell(): void {
    this.#gathering = undefined;
    const states = this.#own!.state();
    const changed = states.filter((state) => !isDeepStrictEqual(this.#published.get(state.uid)?.state, state));
    this.#published = new Map(states.map((state) => [state.uid, publishedState(state)]));
    this.#options.peers.send({ kind: 'states', changed, uids: [...this.#published.keys()] });
  }

  #take({ changed, uids }: { readonly changed: readonly ClusterState[]; readonly uids: readonly string[] }): void {
    if (this.#own !== undefined) return;
    const now = new Map(changed.map((state) => [state.uid, publishedState(state)]));
    const all = uids.map((uid) => [uid, now.get(uid) ?? this.#published.get(uid)] as const);
    // Some states were sent before this process began to listen. It has asked the writer for all states, so the next
    // message is complete.
    if (all.some(([, reported]) => reported === undefined)) return;
    this.#published = new Map(all as readonly (readonly [string, PublishedState])[]);
    clearInterval(this.#asking);
    this.#known.resolve();
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
