// One type of one incarnation while it is followed: what listing, checking, watching and recovering share.
import { makeBackoff, makeBusyWaits } from '../../../lib/backoff.ts';
import type { FencedError } from '../../stores/fenced-error.ts';
import type { IndexStore, ShardWriter, StoredType, SyncPosition } from '../../stores/store.ts';
import type { Incarnation, TypeInfo } from '../../types.ts';
import type { DocumentReader } from '../document/document.ts';
import { typeName } from '../member-paths.ts';
import type { AskMember, SyncFault, SyncTiming, TypeFilter, TypeState } from '../sync-types.ts';
import { makeBatcher, type Batcher, type BatchLimits } from './batch.ts';
import { pause, type ByteBudget, type Gate } from './bounds.ts';
import { makeRate } from './rate.ts';
import type { SeenObject } from './relist.ts';

/** What is followed, and with what. */
export interface FollowOptions {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly isChosen: boolean;
  readonly filter: TypeFilter;
  /**
   * What the store has of it; undefined for nothing. Its position counts only when `keptAs` of its type is that of
   * `type`.
   */
  readonly stored: StoredType | undefined;
  /** Begins with a list, whatever the store has. */
  readonly listsAnew?: boolean;
  /** A relist is committed whole, so that rights are never decided by half of it. */
  readonly isAtomic: boolean;
  readonly reader: DocumentReader;
  readonly ask: AskMember;
  readonly store: Pick<IndexStore, 'apply' | 'versions'>;
  /** As whom it is written; undefined for a store of one process. */
  readonly writer?: ShardWriter | undefined;
  readonly lists: Gate;
  readonly budget: ByteBudget;
  /**
   * Resolves when the member is still this incarnation. Rejects with OtherIncarnation otherwise; then the follower
   * waits until it is closed.
   */
  readonly verify: () => Promise<void>;
  /** Each object of a list and each change, as the member sent it. */
  readonly onObject?: ((type: 'there' | 'gone', object: Buffer) => void) | undefined;
  /** Phase or fault changed. */
  readonly onState: () => void;
  /** Another process writes this cluster now: the follower waits until it is closed. */
  readonly onFenced: (error: FencedError) => void;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly random: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Starts at once; ends only by `close`. */
export interface Follower {
  readonly type: TypeInfo;
  state(): TypeState;
  /** That of the state. */
  confirmedAtMs(): number | undefined;
  /** Its rows are whole, and nothing is in the way of the next change. */
  isCurrent(): boolean;
  /** Stops reading and commits what was read, waiting at most `graceMs` for the store. */
  close(graceMs?: number): Promise<void>;
}

/** What the loop does next. `check`: resume, if the member is the same and has not gone back. */
export type Step = 'list' | 'check' | 'watch';

/** See the file comment. */
export class Following {
  readonly options: FollowOptions;
  /** The type, for messages. */
  readonly what: string;
  readonly batcher: Batcher;
  readonly waits: ReturnType<typeof makeBackoff>;
  readonly busy: ReturnType<typeof makeBusyWaits>;
  /** Up to where events were seen; '' when a list is needed. */
  resourceVersion: string;
  /** The object that changed last of those that are there, to be asked for by its version. */
  seen: SeenObject | undefined;
  /** There are rows of it in the store, in whatever form. */
  hasRows: boolean;
  /** Rows are kept in another form: a list writes them again. */
  rewrites: boolean;
  /** Names, versions or columns of the type are others than those that are kept with its rows. */
  isOtherInfo: boolean;
  objects: number;
  committed: SyncPosition | undefined;
  listed: TypeState['listed'];
  /** The answer of an open watch. */
  watching: { cancel(): void } | undefined;
  /** An event is read and not yet given to the batcher: its version is known, its row not. */
  isTaking = false;
  /** The store was full; the next list only looks for what can be deleted. */
  isFull = false;
  readonly #rate = makeRate();
  readonly #reading = new AbortController();
  readonly #writing = new AbortController();
  #isWhole: boolean;
  #confirmedAtMs: number | undefined;
  #phase: TypeState['phase'] = 'waiting';
  #fault: SyncFault | undefined;
  #storeFault: SyncFault | undefined;

  constructor(options: FollowOptions) {
    const { stored, type, timing, random } = options;
    const isSameForm =
      stored !== undefined && stored.type.keptAs === type.keptAs && stored.type.version === type.version;
    this.options = options;
    this.what = typeName(type);
    this.waits = makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random);
    this.busy = makeBusyWaits(timing.firstBackoffMs, timing.busyGraceMs, random);
    this.resourceVersion = isSameForm && options.listsAnew !== true ? stored.position.resourceVersion : '';
    this.rewrites = stored !== undefined && !isSameForm;
    this.isOtherInfo = stored !== undefined && JSON.stringify(stored.type) !== JSON.stringify(type);
    this.objects = stored?.objects ?? 0;
    this.hasRows = this.objects > 0;
    this.committed = stored?.position;
    this.#isWhole = isSameForm && stored.position.resourceVersion !== '';
    this.#confirmedAtMs =
      stored === undefined || stored.position.confirmedAtMs === 0 ? undefined : stored.position.confirmedAtMs;
    this.batcher = this.#makeBatcher();
  }

  #makeBatcher(): Batcher {
    const { incarnation, type, store, writer, budget, timing, random, limits, onState, onFenced } = this.options;
    return makeBatcher({
      apply: (batch) => store.apply({ incarnation, type, ...batch }, writer),
      budget,
      waitMs: timing.batchWaitMs,
      positionEveryMs: timing.positionEveryMs,
      waits: makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random),
      reading: this.#reading.signal,
      signal: this.#writing.signal,
      ...(limits === undefined ? {} : { limits }),
      onCommit: (commit, position) => {
        this.#rate.add(commit.written + commit.deleted);
        if (position === undefined) return;
        this.committed = position;
        if (position.resourceVersion === '') return;
        this.#confirmedAtMs = position.confirmedAtMs;
        this.#isWhole = true;
      },
      onFull: () => this.watching?.cancel(),
      onFenced,
      onFault: (error) => {
        const message = error instanceof Error ? error.message : 'the index cannot be written';
        this.#storeFault = error === undefined ? undefined : { reason: 'Store', message };
        onState();
      },
    });
  }

  /** Aborted when nothing is to be read any more. */
  get signal(): AbortSignal {
    return this.#reading.signal;
  }

  get fault(): SyncFault | undefined {
    return this.#fault;
  }

  get confirmedAtMs(): number | undefined {
    return this.#confirmedAtMs;
  }

  /** Its rows are whole, and nothing is in the way of the next change. */
  get isCurrent(): boolean {
    return this.#isWhole && this.#phase === 'watching' && this.#fault === undefined && this.#storeFault === undefined;
  }

  enter(phase: TypeState['phase'], fault?: SyncFault): void {
    const isOther = phase !== this.#phase || fault?.message !== this.#fault?.message;
    this.#phase = phase;
    this.#fault = fault;
    if (isOther) this.options.onState();
  }

  /** The member has confirmed everything up to here. @param atMs Unix milliseconds */
  confirmed(atMs: number): void {
    this.batcher.reach({ resourceVersion: this.resourceVersion, confirmedAtMs: atMs }, false);
    if (this.batcher.oldestMs === undefined) this.#confirmedAtMs = atMs;
  }

  state(): TypeState {
    const { oldestMs } = this.batcher;
    return Object.freeze({
      type: this.options.type,
      isChosen: this.options.isChosen,
      phase: this.#phase,
      isWhole: this.#isWhole,
      objects: this.objects,
      ...(this.listed === undefined ? {} : { listed: this.listed }),
      rate: this.#rate.perSecond(),
      lagMs: oldestMs === undefined ? 0 : Math.round(performance.now() - oldestMs),
      confirmedAtMs: this.#confirmedAtMs,
      fault: this.#storeFault ?? this.#fault,
    });
  }

  /**
   * Stops reading; commits what was read once `ended` resolves, waiting at most `graceMs` for the store. Nothing is
   * given to the store after that: rows may be forgotten then.
   */
  async close(ended: Promise<void>, graceMs: number): Promise<void> {
    this.#reading.abort();
    // What the store refuses now is read again by the next follower.
    const flushed = ended.then(() => this.batcher.flush()).catch(() => undefined);
    // A store that does not answer must not keep the process.
    await Promise.race([flushed, pause(graceMs, this.#writing.signal)]);
    this.#writing.abort();
    this.#phase = 'stopped';
  }
}
