// Delays queries for a moment soon after a start, until the first lists are complete. Otherwise answers would contain
// only a part of the rows.
import type { ClusterState } from './member/sync-types.ts';
import type { SyncView } from './sync-view.ts';

/** For how long after its start the index delays queries, in milliseconds. */
const settlingMs = 20_000;
/** How long a single query is delayed at most, in milliseconds. */
const longestWaitMs = 5_000;

/**
 * Returns a function that waits while the first lists are incomplete, and resolves at once otherwise.
 * @param startedAtMs when the index started, in milliseconds of `performance.now()`
 * @param closed aborted when the index ends; ends all waits
 */
export function makeSettled(
  sync: Pick<SyncView, 'state' | 'onChange'>,
  startedAtMs: number,
  closed: AbortSignal,
): () => Promise<void> {
  let isOver = false;
  return async () => {
    if (isOver) return;
    isOver = closed.aborted || performance.now() - startedAtMs > settlingMs || isSettled(sync.state());
    if (isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, longestWaitMs);
    closed.addEventListener('abort', () => resolve(), { once: true });
    const end = sync.onChange(() => {
      if (isSettled(sync.state())) resolve();
    });
    await promise;
    end();
    clearTimeout(timer);
  };
}

function isSettled(states: readonly ClusterState[]): boolean {
  return states.every(
    ({ fault, incarnation, types }) =>
      fault !== undefined ||
      (incarnation !== undefined &&
        types.length > 0 &&
        types.every((type) => type.isWhole || type.fault !== undefined)),
  );
}
