// Follows one type of one incarnation into the store: resume where it stopped, else list; then watch, for ever. Easy to
// get wrong: an API server does not refuse a watch from its future, so before any resume the member must show that it
// is the same one and has got at least that far.
import { makeBackoff, makeBusyWaits } from '../../../lib/backoff.ts';
import { isOlder } from '../../../cache/hub/object-set.ts';
import { byteLinesOf } from '../../../lib/watch-lines.ts';
import type { IndexStore, StoredType, SyncPosition } from '../../stores/store.ts';
import type { Incarnation, ObjectKey, TypeInfo } from '../../types.ts';
import { makeBatcher, type BatchLimits } from './batch.ts';
import { pause, type ByteBudget, type Gate } from './bounds.ts';
import type { DocumentReader } from '../document/document.ts';
import { OtherIncarnation } from '../discover/incarnation.ts';
import { Expired, refusalOf, setbackOf, SyncSetback } from '../member-faults.ts';
import { passes, typeName, typePath } from '../member-paths.ts';
import { makeRate } from './rate.ts';
import { currentVersion, hadThen, relist, seenOf, type SeenObject } from './relist.ts';
import type { AskMember, SyncFault, SyncTiming, TypeFilter, TypeState } from '../sync-types.ts';
import { readMemberEvent } from './watch-event.ts';

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
  readonly lists: Gate;
  readonly budget: ByteBudget;
  /**
   * Resolves when the member is still this incarnation; rejects with OtherIncarnation, and whoever has started this
   * follower closes it.
   */
  readonly verify: () => Promise<void>;
  /** Each object of a list and each change, as the member sent it. */
  readonly onObject?: ((type: 'there' | 'gone', object: Buffer) => void) | undefined;
  /** Phase or fault changed. */
  readonly onState: () => void;
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

const longestPauseMs = 2 ** 31 - 1;

/** What the loop does next. `check`: resume, if the member is the same and has not gone back. */
type Step = 'list' | 'check' | 'watch';

export function startFollower(options: FollowOptions): Follower {
  const { incarnation, type, stored, timing, random, now } = options;
  const what = typeName(type);
  const reading = new AbortController();
  const writing = new AbortController();
  const waits = makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random);
  const busy = makeBusyWaits(timing.firstBackoffMs, timing.busyGraceMs, random);
  const rate = makeRate();
  const isSameForm = stored !== undefined && stored.type.keptAs === type.keptAs && stored.type.version === type.version;
  /** Up to where events were seen; '' when a list is needed. */
  let resourceVersion = isSameForm && options.listsAnew !== true ? stored.position.resourceVersion : '';
  /** The object that changed last of those that are there, to be asked for by its version. */
  let seen: SeenObject | undefined;
  let isWhole = isSameForm && stored.position.resourceVersion !== '';
  let rewrites = stored !== undefined && !isSameForm;
  let isOtherInfo = stored !== undefined && JSON.stringify(stored.type) !== JSON.stringify(type);
  let hasRows = (stored?.objects ?? 0) > 0;
  let objects = stored?.objects ?? 0;
  let committed: SyncPosition | undefined = stored?.position;
  let confirmedAtMs =
    stored === undefined || stored.position.confirmedAtMs === 0 ? undefined : stored.position.confirmedAtMs;
  let phase: TypeState['phase'] = 'waiting';
  let fault: SyncFault | undefined;
  let storeFault: SyncFault | undefined;
  let listed: TypeState['listed'];
  let watching: { cancel(): void } | undefined;
  /** An event is read and not yet given to the batcher: its version is known, its row not. */
  let isTaking = false;
  /** The store was full; the next list only looks for what can be deleted. */
  let isFull = false;

  const batcher = makeBatcher({
    apply: (batch) => options.store.apply({ incarnation, type, ...batch }),
    budget: options.budget,
    waitMs: timing.batchWaitMs,
    positionEveryMs: timing.positionEveryMs,
    waits: makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random),
    reading: reading.signal,
    signal: writing.signal,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    onCommit(commit, position) {
      rate.add(commit.written + commit.deleted);
      if (position === undefined) return;
      committed = position;
      if (position.resourceVersion !== '') {
        confirmedAtMs = position.confirmedAtMs;
        isWhole = true;
      }
    },
    onFull: () => watching?.cancel(),
    onFault(error) {
      const message = error instanceof Error ? error.message : 'the index cannot be written';
      storeFault = error === undefined ? undefined : { reason: 'Store', message };
      options.onState();
    },
  });

  function enter(next: TypeState['phase'], why?: SyncFault): void {
    const changed = next !== phase || why?.message !== fault?.message;
    phase = next;
    fault = why;
    if (changed) options.onState();
  }

  async function list(): Promise<Step> {
    enter(fault === undefined ? 'waiting' : 'failing', fault);
    await options.lists.run(reading.signal, async () => {
      await options.verify();
      enter('listing');
      listed = { done: 0, of: 0 };
      // From here on rows are of several moments: whoever starts anew must list again.
      if (committed !== undefined && committed.resourceVersion !== '') {
        batcher.reach({ resourceVersion: '', confirmedAtMs: committed.confirmedAtMs }, true);
        await batcher.flush();
      }
      batcher.hold(options.isAtomic);
      try {
        const found = await relist({
          ...options,
          batcher,
          signal: reading.signal,
          hasRows,
          rewrites,
          onlyDeletes: isFull,
          onProgress: (done, of) => void (listed = { done, of }),
          onObject: options.onObject && ((object) => options.onObject!('there', object)),
        });
        if (!isFull) batcher.reach({ resourceVersion: found.resourceVersion, confirmedAtMs: found.askedAtMs }, true);
        await batcher.flush();
        reading.signal.throwIfAborted();
        if (isFull) {
          isFull = false;
          return;
        }
        ({ resourceVersion, objects, newest: seen } = found);
        busy.reset();
        rewrites = false;
      } finally {
        hasRows = true;
        listed = undefined;
        batcher.hold(false);
      }
    });
    return resourceVersion === '' ? 'list' : 'watch';
  }

  /**
   * Asks for the version of now. An API server sends no bookmark to a watch of a type whose cache has not moved since
   * the watch began (apiserver's cacheWatcher drops those that are not newer), and etcd moves the cache of a type
   * without changes only every ten minutes; a list that must be consistent moves it at once (KEP-2340), so the next
   * bookmark comes. Where the version is where we are, nothing has changed until now.
   */
  async function confirm(): Promise<string> {
    const askedAtMs = now();
    const current = await currentVersion({ ...options, signal: reading.signal });
    if (current !== '' && current === resourceVersion && !isTaking) reached(askedAtMs);
    return current;
  }

  function reached(atMs: number): void {
    batcher.reach({ resourceVersion, confirmedAtMs: atMs }, false);
    if (batcher.oldestMs === undefined) confirmedAtMs = atMs;
  }

  /** Calls `confirm` while a watch is open and quiet; returns the way to end it. */
  function askWhileQuiet(hasNews: () => boolean): () => void {
    let isAsking = false;
    const ask = async (): Promise<void> => {
      if (isAsking) return;
      isAsking = true;
      // Whether the member can be asked is judged by the watch, and by the age that is told.
      await confirm().catch(() => undefined);
      isAsking = false;
    };
    const first = setTimeout(() => void (hasNews() || ask()), timing.quietMs);
    const again = setInterval(() => {
      if (now() - (confirmedAtMs ?? 0) >= timing.unconfirmedMs) void ask();
    }, timing.unconfirmedMs);
    return () => {
      clearTimeout(first);
      clearInterval(again);
    };
  }

  async function check(): Promise<Step> {
    await options.verify();
    const current = await confirm();
    if (isOlder(current, resourceVersion)) return 'list';
    if (seen !== undefined && (await hadThen({ ...options, signal: reading.signal }, seen)) === false) return 'list';
    // Names, versions or columns of the type are others than those that are kept with its rows.
    if (isOtherInfo && committed !== undefined) batcher.reach({ ...committed, resourceVersion }, true);
    isOtherInfo = false;
    return 'watch';
  }

  async function watch(): Promise<Step> {
    const { watchSecondsMin, watchSecondsMax } = timing;
    const seconds = Math.max(1, Math.round(watchSecondsMin + random() * (watchSecondsMax - watchSecondsMin)));
    const answer = await options.ask({
      path: typePath(type, options.filter, {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion,
        timeoutSeconds: String(seconds),
      }),
      headTimeoutMs: timing.headTimeoutMs,
      isWatch: true,
      signal: reading.signal,
    });
    if (answer.status !== 200) {
      const refusal = await refusalOf(answer, incarnation.cluster, `watch of ${what}`);
      // A version it does not accept is not mended by asking with it again.
      if (answer.status === 400 || answer.status === 422 || answer.status === 504) resourceVersion = '';
      throw refusal;
    }
    enter('watching');
    busy.reset();
    watching = answer;
    const openedAtMs = performance.now();
    let isStalled = false;
    let lines = 0;
    const endQuestions = askWhileQuiet(() => lines > 0);
    const deadline = setTimeout(
      () => {
        isStalled = true;
        answer.cancel();
      },
      seconds * 1000 + timing.stallGraceMs,
    );
    try {
      for await (const line of byteLinesOf(answer.chunks)) {
        lines += 1;
        isTaking = true;
        await take(line);
        isTaking = false;
      }
    } catch (error) {
      if (isStalled)
        throw new SyncSetback('Stalled', `the watch of ${what} of cluster "${incarnation.cluster}" went silent`);
      throw error;
    } finally {
      isTaking = false;
      endQuestions();
      clearTimeout(deadline);
      watching = undefined;
      answer.cancel();
      if (lines > 0 || performance.now() - openedAtMs >= timing.healthyMs) waits.reset();
    }
    if (lines === 0 && performance.now() - openedAtMs < 1000) {
      throw new SyncSetback('Refused', `cluster "${incarnation.cluster}" ends every watch of ${what} at once`);
    }
    return 'check';
  }

  async function take(line: Buffer): Promise<void> {
    const event = readMemberEvent(line);
    const atMs = now();
    if (event.type === 'ERROR') {
      const { code, reason } = event.status;
      if (code === 410 || reason === 'Expired' || reason === 'Gone') throw new Expired();
      // What it means is not known, so nothing is taken for granted.
      resourceVersion = '';
      throw new SyncSetback(
        'Refused',
        `cluster "${incarnation.cluster}" ended the watch of ${what} with an error (${code})`,
      );
    }
    if (event.type === 'BOOKMARK') {
      ({ resourceVersion } = event);
      reached(atMs);
      return;
    }
    const row = options.reader.read(event.object);
    const isGone = event.type === 'DELETED';
    if (row.resourceVersion !== '') ({ resourceVersion } = row);
    const position = { resourceVersion, confirmedAtMs: atMs };
    if (!passes(options.filter, type.namespaced, row)) {
      batcher.reach(position, false);
      return;
    }
    if (!isGone) seen = seenOf(row) ?? seen;
    if (event.type === 'ADDED') objects += 1;
    else if (isGone) objects = Math.max(0, objects - 1);
    options.onObject?.(isGone ? 'gone' : 'there', event.object);
    const key: ObjectKey = { namespace: row.namespace, name: row.name };
    await (isGone ? batcher.remove(key, position) : batcher.put(row, position));
  }

  async function recover(error: unknown, doing: Step): Promise<Step> {
    if (error instanceof Expired) {
      resourceVersion = '';
      if (doing === 'list') {
        enter('failing', {
          reason: 'Refused',
          message: `cluster "${incarnation.cluster}" forgets lists of ${what} while they are read`,
        });
        await pause(waits.next(), reading.signal);
      }
      return 'list';
    }
    if (error instanceof OtherIncarnation) {
      // Whoever told us closes this follower.
      await pause(longestPauseMs, reading.signal);
      return 'list';
    }
    if (batcher.failure !== undefined) {
      const { message } = batcher.failure;
      enter('failing', { reason: 'Store', message });
      await pause(timing.fullRetryMs, reading.signal);
      batcher.retry();
      resourceVersion = '';
      isFull = true;
      return 'list';
    }
    const setback = setbackOf(error, incarnation.cluster, `${doing} of ${what}`);
    const momentMs = setback.retryAfterMs === undefined ? undefined : busy.next(setback.retryAfterMs);
    if (momentMs === undefined) enter('failing', setback.fault);
    await pause(momentMs ?? waits.next(), reading.signal);
    // After an event that cannot be read everything after it is unknown, too.
    if (setback.fault.reason === 'Malformed' && doing === 'watch') resourceVersion = '';
    return resourceVersion === '' || doing === 'list' ? 'list' : 'check';
  }

  async function run(): Promise<void> {
    let step: Step = resourceVersion === '' ? 'list' : 'check';
    while (!reading.signal.aborted) {
      try {
        if (step === 'list') step = await list();
        else if (step === 'check') step = await check();
        else step = await watch();
      } catch (error) {
        if (reading.signal.aborted) break;
        step = await recover(error, step);
      }
    }
  }

  const ended = run();

  return {
    type,
    state: () => {
      const { oldestMs } = batcher;
      return Object.freeze({
        type,
        isChosen: options.isChosen,
        phase,
        isWhole,
        objects,
        ...(listed === undefined ? {} : { listed }),
        rate: rate.perSecond(),
        lagMs: oldestMs === undefined ? 0 : Math.round(performance.now() - oldestMs),
        confirmedAtMs,
        fault: storeFault ?? fault,
      });
    },
    confirmedAtMs: () => confirmedAtMs,
    isCurrent: () => isWhole && phase === 'watching' && fault === undefined && storeFault === undefined,
    async close(graceMs = 2_000) {
      reading.abort();
      // A store that does not answer must not keep the process.
      await Promise.race([ended.then(() => batcher.flush()), pause(graceMs, writing.signal)]);
      writing.abort();
      phase = 'stopped';
    },
  };
}
