// Asks a member how far it is. Easy to get wrong: an API server does not refuse a watch from its future, so before any
// resume the member must show that it is the same one and has got at least that far.
import { isOlder } from '../../../cache/hub/object-set.ts';
import type { Following, Step } from './following.ts';
import { currentVersion, hadThen } from './relist.ts';

/** Whether a watch can go on where events ended. @throws as `verify` and {@link currentVersion} */
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
 * Asks for the version of now. An API server sends no bookmark to a watch of a type whose cache has not moved since
 * the watch began (apiserver's cacheWatcher drops those that are not newer), and etcd moves the cache of a type
 * without changes only every ten minutes; a list that must be consistent moves it at once (KEP-2340), so the next
 * bookmark comes. Where the version is where we are, nothing has changed until now.
 */
async function confirm(following: Following): Promise<string> {
  const { options, signal } = following;
  const askedAtMs = options.now();
  const current = await currentVersion({ ...options, signal });
  if (current !== '' && current === following.resourceVersion && !following.isTaking) following.confirmed(askedAtMs);
  return current;
}

/** Confirms again and again while a watch is open and quiet. @returns the way to end it */
export function confirmWhileQuiet(following: Following, hasNews: () => boolean): () => void {
  const { timing, now } = following.options;
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    // Whether the member can be asked shows in the watch, and in the age of what is confirmed.
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
