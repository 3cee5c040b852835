// Checks before a watch is resumed that the member cluster was not restored to an earlier state. Easy to get wrong: an
// API server accepts a watch from a resourceVersion that it has not reached. So the member must first prove that it is
// the same incarnation, and that its resourceVersion is not lower than the one from which the watch resumes.
import { isOlder } from '../../kube/reflector/object-set.ts';
import type { Following, Step } from './following.ts';
import { currentVersion, hadThen } from './relist.ts';

/**
 * Decides whether the watch can be resumed ('watch') or a new list is needed ('list').
 * @throws whatever `verify` and {@link currentVersion} throw
 */
export async function check(following: Following): Promise<Step> {
  const { options, signal, batcher } = following;
  await options.verify();
  const current = await confirm(following);
  if (isOlder(current, following.resourceVersion)) return 'list';
  const { seen, committed, resourceVersion } = following;
  if (seen !== undefined && (await hadThen({ ...options, signal }, seen)) === false) return 'list';
  if (following.isOtherInfo && committed !== undefined) batcher.reach({ ...committed, resourceVersion }, true);
  following.isOtherInfo = false;
  return 'watch';
}

/**
 * Reads the member cluster's present resourceVersion. When that is still the resourceVersion of the last event, nothing
 * has changed, and the rows are confirmed as up to date. Bookmarks alone do not suffice: an API server only sends one
 * when its cache has moved since the watch began (cacheWatcher), and the cache of a type without changes may move only
 * every ten minutes. A consistent list moves the cache at once (KEP-2340), so the next bookmark comes.
 */
async function confirm(following: Following): Promise<string> {
  const { options, signal } = following;
  const askedAtMs = options.now();
  const current = await currentVersion({ ...options, signal });
  if (current !== '' && current === following.resourceVersion && !following.isTaking) following.confirmed(askedAtMs);
  return current;
}

/**
 * While a watch is open and brings nothing, asks the cluster regularly whether the rows are still up to date.
 * @returns a function that stops asking
 */
export function confirmWhileQuiet(following: Following, hasNews: () => boolean): () => void {
  const { timing, now } = following.options;
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    // A failure is ignored here: the watch reports it, too, and `confirmedAtMs` stays old.
    await confirm(following).catch(() => undefined);
    isAsking = false;
  };
  const first = setTimeout(() => void (hasNews() || ask()), timing.quietMs);
  const again = setInterval(() => {
    if (now() - (following.confirmedAtMs ?? 0) >= timing.unconfirmedMs) void ask();
  }, timing.unconfirmedMs);
  return () => {
    clearTimeout(first);
    clearInterval(again);
  };
}
