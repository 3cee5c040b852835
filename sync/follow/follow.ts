// Copies the objects of one type of one cluster into the index: resumes the watch from the stored resourceVersion, or
// lists, and then watches until it is closed.
import { longestTimerMs } from '../../lib/duration.ts';
import type { TypeInfo } from '../../query/types.ts';
import { FencedError } from '../../store/fenced-error.ts';
import { OtherIncarnation } from '../member/incarnation.ts';
import { Expired, setbackOf } from '../member/member-faults.ts';
import type { TypeState } from '../member/sync-types.ts';
import { pause } from '../../lib/concurrency/gates.ts';
import { check } from './follow-check.ts';
import { list } from './follow-list.ts';
import { watch } from './follow-watch.ts';
import { Following, type FollowOptions, type Step } from './following.ts';

/** Copies one type of one cluster into the index, by list and watch, until `close` is called. */
export interface Follower {
  readonly type: TypeInfo;
  state(): TypeState;
  /** When the rows were last known to be up to date, in Unix milliseconds: the `confirmedAtMs` of state(). */
  confirmedAtMs(): number | undefined;
  /** True when the rows are complete, the watch is open, there is no fault, and no object is left out. */
  isCurrent(): boolean;
  /** Stops reading and commits what was read. Waits at most `graceMs` milliseconds for the index store. */
  close(graceMs?: number): Promise<void>;
}

const steps = { list, check, watch };

export function startFollower(options: FollowOptions): Follower {
  const following = new Following(options);
  const ended = run(following);
  return {
    type: options.type,
    state: () => following.state(),
    confirmedAtMs: () => following.confirmedAtMs,
    isCurrent: () => following.isCurrent,
    close: (graceMs = 2_000) => following.close(ended, graceMs),
  };
}

async function run(following: Following): Promise<void> {
  const { signal } = following;
  let step: Step = following.resourceVersion === '' ? 'list' : 'check';
  while (!signal.aborted) {
    try {
      step = await steps[step](following);
    } catch (error) {
      if (signal.aborted) break;
      step = await recover(following, error, step);
    }
  }
}

/**
 * Handles the error of a step: records the fault, and waits until the next attempt may begin. @returns the next step
 */
async function recover(following: Following, error: unknown, doing: Step): Promise<Step> {
  const { options, batcher, signal, what, waits, busy } = following;
  const { cluster } = options.incarnation;
  if (error instanceof Expired) return await recoverExpired(following, doing);
  if (error instanceof OtherIncarnation || batcher.failure instanceof FencedError) {
    // Another process writes this cluster now (FencedError), or the cluster was set up anew. In both cases this
    // follower is about to be closed, so it waits for that.
    await pause(longestTimerMs, signal);
    return 'list';
  }
  if (batcher.failure !== undefined) {
    const { message } = batcher.failure;
    following.enter('failing', { reason: 'Store', message });
    await pause(options.timing.fullRetryMs, signal);
    batcher.retry();
    following.resourceVersion = '';
    following.isFull = true;
    return 'list';
  }
  const setback = setbackOf(error, cluster, `${doing} of ${what}`);
  const momentMs = setback.retryAfterMs === undefined ? undefined : busy.next(setback.retryAfterMs);
  if (momentMs === undefined) following.enter('failing', setback.fault);
  await pause(momentMs ?? waits.next(), signal);
  // The changes after an unreadable event are unknown as well, so a list is needed.
  if (setback.fault.reason === 'Malformed' && doing === 'watch') following.resourceVersion = '';
  return following.resourceVersion === '' || doing === 'list' ? 'list' : 'check';
}

/** After a 410, the type is listed again. Lists or watches that are answered so one after the other must wait. */
async function recoverExpired(following: Following, doing: Step): Promise<Step> {
  const { options, signal, what, waits, expiry } = following;
  const { cluster } = options.incarnation;
  following.resourceVersion = '';
  const next = doing === 'list' ? 'fail' : expiry.next();
  if (next === 'list') return 'list';
  if (next === 'fail') {
    const message =
      doing === 'list'
        ? `cluster "${cluster}" forgets lists of ${what} while they are read`
        : `cluster "${cluster}" answers 410 to the watch of ${what} right after each list`;
    following.enter('failing', { reason: 'Refused', message });
  }
  await pause(waits.next(), signal);
  return 'list';
}
