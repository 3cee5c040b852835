// Follows one type of one incarnation into the store: resumes where it stopped, else lists; then watches, until closed.
import type { TypeInfo } from '../../types.ts';
import { FencedError } from '../../stores/fenced-error.ts';
import { OtherIncarnation } from '../discover/incarnation.ts';
import { Expired, setbackOf } from '../member-faults.ts';
import type { TypeState } from '../sync-types.ts';
import { pause } from './bounds.ts';
import { check } from './follow-check.ts';
import { list } from './follow-list.ts';
import { watch } from './follow-watch.ts';
import { Following, type FollowOptions, type Step } from './following.ts';

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

/** Waits as long as the error asks for. @returns what to do next */
async function recover(following: Following, error: unknown, doing: Step): Promise<Step> {
  const { options, batcher, signal, what, waits, busy } = following;
  const { cluster } = options.incarnation;
  if (error instanceof Expired) {
    following.resourceVersion = '';
    if (doing !== 'list') return 'list';
    const message = `cluster "${cluster}" forgets lists of ${what} while they are read`;
    following.enter('failing', { reason: 'Refused', message });
    await pause(waits.next(), signal);
    return 'list';
  }
  if (error instanceof OtherIncarnation || batcher.failure instanceof FencedError) {
    // This follower is about to be closed.
    await pause(longestPauseMs, signal);
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
  // After an event that cannot be read everything after it is unknown, too.
  if (setback.fault.reason === 'Malformed' && doing === 'watch') following.resourceVersion = '';
  return following.resourceVersion === '' || doing === 'list' ? 'list' : 'check';
}
