// Reads the complete list of a type into the index store.
import type { Following, Step } from './following.ts';
import { relist, type Relisted } from './relist.ts';

/** Waits until a list may run, reads it, and commits it. @throws whatever {@link relist} throws */
export async function list(following: Following): Promise<Step> {
  const { fault, options, signal } = following;
  following.enter(fault === undefined ? 'waiting' : 'failing', fault);
  await options.lists.run(signal, async () => {
    await options.verify();
    following.enter('listing');
    following.listed = { done: 0, of: 0 };
    await forgetPosition(following);
    following.batcher.hold(options.isAtomic);
    try {
      await listNow(following);
    } finally {
      following.hasRows = true;
      following.listed = undefined;
      following.batcher.hold(false);
    }
  });
  return following.resourceVersion === '' ? 'list' : 'watch';
}

/**
 * Clears the stored resourceVersion. During a list, rows are of different moments, so a process that starts then must
 * list again.
 */
async function forgetPosition({ committed, batcher }: Following): Promise<void> {
  if (committed === undefined || committed.resourceVersion === '') return;
  batcher.reach({ resourceVersion: '', confirmedAtMs: committed.confirmedAtMs }, true);
  await batcher.flush();
}

async function listNow(following: Following): Promise<void> {
  const { options, batcher, signal, isFull, hasRows, rewrites } = following;
  const { onObject } = options;
  following.leftOut.beginList();
  const found: Relisted = await relist({
    ...options,
    batcher,
    signal,
    hasRows,
    rewrites,
    onlyDeletes: isFull,
    onProgress: (done, of) => void (following.listed = { done, of }),
    onObject: onObject && ((object) => onObject('there', object)),
  });
  if (!isFull) {
    const { resourceVersion, askedAtMs: confirmedAtMs, newest } = found;
    const resume = newest === undefined ? {} : { resume: JSON.stringify(newest) };
    batcher.reach({ resourceVersion, confirmedAtMs, ...resume }, true);
  }
  await batcher.flush();
  signal.throwIfAborted();
  following.isFull = false;
  if (isFull) return;
  if (following.leftOut.endList()) options.onState();
  following.resourceVersion = found.resourceVersion;
  following.objects = found.objects;
  following.seen = found.newest;
  following.busy.reset();
  following.expiry.listed();
  following.rewrites = false;
}
