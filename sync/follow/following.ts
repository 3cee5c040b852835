// The state of copying one type of one cluster into the index. The functions that list, check, watch and recover all
// use it.
import { makeBackoff, makeBusyWaits } from '../../lib/backoff.ts';
import { ExpiryAfterList } from '../../kube/watch.ts';
import type { FencedError } from '../../store/fenced-error.ts';
import type { Commit, IndexStore, ShardWriter, StoredType, SyncPosition, WriteBatch } from '../../store/store.ts';
import type { Incarnation, TypeInfo } from '../../query/types.ts';
import type { DocumentReader } from '../document/document.ts';
import { typeName } from '../member/member-paths.ts';
import type { AskMember, SyncFault, SyncTiming, TypeFilter, TypeState } from '../member/sync-types.ts';
import { makeBatcher, type Batcher, type BatchLimits } from './batch.ts';
import { pause, type ByteBudget, type Gate } from '../../lib/concurrency/gates.ts';
import { LeftOutObjects } from './left-out-objects.ts';
import { makeRate } from './rate.ts';
import type { SeenObject } from './relist.ts';

/** What to copy into the index, and everything that is needed for it. */
export interface FollowOptions {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly isChosen: boolean;
  readonly filter: TypeFilter;
  /**
   * What the index store has of this type; undefined when it has nothing. The stored resourceVersion is used only when
   * the `keptAs` text of the rows equals that of `type`, or with `keepsForm`.
   */
  readonly stored: StoredType | undefined;
  /**
   * True when the stored rows stay as they are, although a newer version of Portcullis wrote them in another format.
   */
  readonly keepsForm?: boolean;
  /**
   * The `keptAs` text to store while a list rewrites the rows, so that some have the present format and some do not
   * yet.
   */
  readonly keptMeanwhile?: string;
  /** True: start with a list, even when the index store has a resourceVersion from which a watch could be resumed. */
  readonly listsAnew?: boolean;
  /**
   * True for types that decide access: a list is committed as a whole, so that access is never decided with half of it.
   */
  readonly isAtomic: boolean;
  readonly reader: DocumentReader;
  readonly ask: AskMember;
  readonly store: Pick<IndexStore, 'apply' | 'versions'>;
  /**
   * The lease that permits this process to write the rows, when several replicas share the store; undefined for a store
   * that only one process writes.
   */
  readonly writer?: ShardWriter | undefined;
  readonly lists: Gate;
  readonly budget: ByteBudget;
  /**
   * Resolves when the cluster is still the same. Rejects with OtherIncarnation when it was wiped and set up anew; the
   * follower then waits until it is closed.
   */
  readonly verify: () => Promise<void>;
  /** Called with each object of a list and each change, in the bytes that the member cluster sent. */
  readonly onObject?: ((type: 'there' | 'gone', object: Buffer) => void) | undefined;
  /** Called when the phase or the fault of the type has changed. */
  readonly onState: () => void;
  /** Called when another process writes this cluster now. The follower then does nothing until it is closed. */
  readonly onFenced: (error: FencedError) => void;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly random: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/**
 * The next step of the loop. `check` resumes the watch if the cluster was neither set up anew nor restored from a
 * backup.
 */
export type Step = 'list' | 'check' | 'watch';

/** The state of copying one type into the index. `close` ends it. */
export class Following {
  readonly options: FollowOptions;
  /** The name of the type for messages, such as `deployments.apps`. */
  readonly what: string;
  readonly batcher: Batcher;
  readonly waits: ReturnType<typeof makeBackoff>;
  readonly busy: ReturnType<typeof makeBusyWaits>;
  readonly expiry: ExpiryAfterList;
  /** The resourceVersion of the last event that was read; '' when a list is needed. */
  resourceVersion: string;
  /**
   * The existing object that changed last, with its resourceVersion. Used to check whether the member cluster was
   * restored from a backup.
   */
  seen: SeenObject | undefined;
  /** True when the index store has rows of this type, in whatever form. */
  hasRows: boolean;
  /** True when the rows are stored in another format than the present one. The next list writes them all again. */
  rewrites: boolean;
  /** True when the description of the type (names, versions, columns) differs from the stored one. */
  isOtherInfo: boolean;
  /** The number of objects of the type, including those that are left out. */
  objects: number;
  /** The objects that the index store cannot keep. */
  readonly leftOut = new LeftOutObjects();
  committed: SyncPosition | undefined;
  listed: TypeState['listed'];
  /** The answer of the open watch; undefined when none is open. */
  watching: { cancel(): void } | undefined;
  /** True while an event was read but is not in the batch yet: `resourceVersion` may be ahead of the batch. */
  isTaking = false;
  /** True after the index store was full. The next list then only deletes rows and writes none. */
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
    const { stored, type, timing, random, keepsForm = false } = options;
    const isSameForm =
      stored !== undefined && (keepsForm || stored.type.keptAs === type.keptAs) && stored.type.version === type.version;
    this.options = options;
    this.what = typeName(type);
    this.waits = makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random);
    this.busy = makeBusyWaits(timing.firstBackoffMs, timing.busyGraceMs, random);
    const resume = readResume(stored?.position.resume);
    const listsAnew = options.listsAnew === true || resume.leavesOut;
    this.expiry = new ExpiryAfterList(timing);
    this.resourceVersion = isSameForm && !listsAnew ? stored.position.resourceVersion : '';
    this.rewrites = stored !== undefined && !isSameForm;
    this.isOtherInfo = stored !== undefined && JSON.stringify(stored.type) !== JSON.stringify(type);
    this.objects = stored?.objects ?? 0;
    this.hasRows = this.objects > 0;
    this.committed = stored?.position;
    if (this.resourceVersion !== '') this.seen = resume.seen;
    this.#isWhole = isSameForm && stored.position.resourceVersion !== '';
    this.#confirmedAtMs =
      stored === undefined || stored.position.confirmedAtMs === 0 ? undefined : stored.position.confirmedAtMs;
    this.batcher = this.#makeBatcher();
  }

  #makeBatcher(): Batcher {
    const { budget, timing, random, limits, onState, onFenced } = this.options;
    return makeBatcher({
      apply: (batch) => this.#apply(batch),
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

  /** Commits a batch, and notes the objects that the store has left out. */
  async #apply(batch: Pick<WriteBatch, 'upserts' | 'deletes' | 'position'>): Promise<Commit> {
    const { incarnation, store, writer, onState } = this.options;
    const { position } = batch;
    const write = (one: typeof batch): Promise<Commit> =>
      store.apply({ incarnation, type: this.#typeFor(one), ...one }, writer);
    const hadSome = this.leftOut.state !== undefined;
    const made = await write(position === undefined ? batch : { ...batch, position: this.#marked(position) });
    const isOther = this.leftOut.note(batch, made.leftOut);
    if (position !== undefined && hadSome !== (this.leftOut.state !== undefined))
      await write({ upserts: [], deletes: [], position: this.#marked(position) });
    if (isOther) onState();
    return made;
  }

  /**
   * The position with a mark while objects are left out. The store does not know these objects, so a follower that
   * continues from such a position lists the type again to learn of them.
   */
  #marked(position: SyncPosition): SyncPosition {
    if (this.leftOut.state === undefined) return position;
    const seen = JSON.parse(position.resume ?? '{}') as object;
    return { ...position, resume: JSON.stringify({ ...seen, leavesOut: true }) };
  }

  /**
   * The type to store with a batch. Its `keptAs` text says how the rows are stored once the batch is committed. While a
   * list rewrites all rows, only the batch that ends the list says that all have the present format. A process that
   * continues from an earlier batch must rewrite them all again.
   */
  #typeFor({ position }: Pick<WriteBatch, 'position'>): TypeInfo {
    const { type, keptMeanwhile } = this.options;
    if (!this.rewrites || keptMeanwhile === undefined || (position?.resourceVersion ?? '') !== '') return type;
    return { ...type, keptAs: keptMeanwhile };
  }

  /** Aborted when reading from the member cluster shall end. */
  get signal(): AbortSignal {
    return this.#reading.signal;
  }

  get fault(): SyncFault | undefined {
    return this.#fault;
  }

  get confirmedAtMs(): number | undefined {
    return this.#confirmedAtMs;
  }

  /** True when the rows are complete, the watch is open, there is no fault, and no object is left out. */
  get isCurrent(): boolean {
    const isFine = this.#fault === undefined && this.#storeFault === undefined && this.leftOut.state === undefined;
    return this.#isWhole && this.#phase === 'watching' && isFine;
  }

  enter(phase: TypeState['phase'], fault?: SyncFault): void {
    const isOther = phase !== this.#phase || fault?.message !== this.#fault?.message;
    this.#phase = phase;
    this.#fault = fault;
    if (isOther) this.options.onState();
  }

  /**
   * The position to commit with the rows that were read so far. Another process can resume the watch from it.
   * @param confirmedAtMs when the rows were up to date, in Unix milliseconds
   */
  positionAt(confirmedAtMs: number): SyncPosition {
    const { resourceVersion, seen } = this;
    return { resourceVersion, confirmedAtMs, ...(seen === undefined ? {} : { resume: JSON.stringify(seen) }) };
  }

  /** Records that the rows were up to date at this time. @param atMs Unix milliseconds */
  confirmed(atMs: number): void {
    this.batcher.reach(this.positionAt(atMs), false);
    if (this.batcher.oldestMs === undefined) this.#confirmedAtMs = atMs;
  }

  state(): TypeState {
    const { oldestMs } = this.batcher;
    const leftOut = this.leftOut.state;
    return Object.freeze({
      type: this.options.type,
      isChosen: this.options.isChosen,
      phase: this.#phase,
      isWhole: this.#isWhole,
      objects: Math.max(0, this.objects - (leftOut?.count ?? 0)),
      ...(this.listed === undefined ? {} : { listed: this.listed }),
      rate: this.#rate.perSecond(),
      lagMs: oldestMs === undefined ? 0 : Math.round(performance.now() - oldestMs),
      confirmedAtMs: this.#confirmedAtMs,
      fault: this.#storeFault ?? this.#fault,
      ...(leftOut === undefined ? {} : { leftOut }),
    });
  }

  /**
   * Stops reading. Once `ended` resolves, commits what was read, waiting at most `graceMs` milliseconds for the store.
   * Nothing is written afterwards, so the caller may delete the rows.
   * @param ended resolves when no more events are processed
   */
  async close(ended: Promise<void>, graceMs: number): Promise<void> {
    this.#reading.abort();
    // Rows that the store refuses now are read again by the next follower.
    const flushed = ended.then(() => this.batcher.flush()).catch(() => undefined);
    // The wait is limited, so that a store that does not answer cannot keep the process from ending.
    await Promise.race([flushed, pause(graceMs, this.#writing.signal)]);
    this.#writing.abort();
    this.#phase = 'stopped';
  }
}

interface Resume {
  readonly seen: SeenObject | undefined;
  /** Whether objects were left out when the position was committed. */
  readonly leavesOut: boolean;
}

/** Parses the `resume` text of a stored position; nothing is known from a missing text or one in another format. */
function readResume(resume: string | undefined): Resume {
  try {
    const { namespace, name, resourceVersion, leavesOut } = JSON.parse(resume ?? '{}') as Partial<
      SeenObject & { readonly leavesOut: boolean }
    >;
    const isSeen = namespace !== undefined && name !== undefined && resourceVersion !== undefined;
    return { seen: isSeen ? { namespace, name, resourceVersion } : undefined, leavesOut: leavesOut === true };
  } catch {
    return { seen: undefined, leavesOut: false };
  }
}
