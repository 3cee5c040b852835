// Watches a type and writes each event into the index store, until the watch ends.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { byteLinesOf } from '../../lib/watch-lines.ts';
import type { ObjectKey } from '../../query/types.ts';
import { Expired, refusalOf, SyncSetback } from '../member/member-faults.ts';
import { passes, typePath } from '../member/member-paths.ts';
import { confirmWhileQuiet } from './follow-check.ts';
import type { Following, Step } from './following.ts';
import { isVersion } from './list-items.ts';
import { seenOf } from './relist.ts';
import { readMemberEvent } from './watch-event.ts';

/**
 * A watch that ends sooner than this, without an event, counts as refused although its status was 200. In milliseconds.
 */
const shortestWatchMs = 1000;

/**
 * Watches the type until the watch ends, and returns the next step.
 * @throws SyncSetback, GatewayError, MalformedAnswer, Expired (rejects)
 */
export async function watch(following: Following): Promise<Step> {
  const { options, what, signal } = following;
  const { watchSecondsMin, watchSecondsMax, headTimeoutMs } = options.timing;
  const seconds = Math.max(1, Math.round(watchSecondsMin + options.random() * (watchSecondsMax - watchSecondsMin)));
  const answer = await options.ask({
    path: typePath(options.type, options.filter, {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: following.resourceVersion,
      timeoutSeconds: String(seconds),
    }),
    headTimeoutMs,
    isWatch: true,
    signal,
  });
  if (answer.status !== 200) {
    const refusal = await refusalOf(answer, options.incarnation.cluster, `watch of ${what}`);
    // The member cluster does not accept this resourceVersion, so repeating the watch would fail again. A list is
    // needed.
    if (answer.status === 400 || answer.status === 422 || answer.status === 504) following.resourceVersion = '';
    throw refusal;
  }
  following.enter('watching');
  following.busy.reset();
  await readEvents(following, answer, seconds * 1000);
  return 'check';
}

/**
 * Applies the events of an open watch until it ends.
 * @param lastsMs the `timeoutSeconds` of the watch, in milliseconds
 */
async function readEvents(following: Following, answer: MemberAnswer, lastsMs: number): Promise<void> {
  const { options, what, waits } = following;
  const { cluster } = options.incarnation;
  const openedAtMs = performance.now();
  let isStalled = false;
  let lines = 0;
  following.watching = answer;
  const endQuestions = confirmWhileQuiet(following, () => lines > 0);
  const deadline = setTimeout(() => {
    isStalled = true;
    answer.cancel();
  }, lastsMs + options.timing.stallGraceMs);
  try {
    for await (const line of byteLinesOf(answer.chunks)) {
      lines += 1;
      following.isTaking = true;
      await take(following, line);
      following.isTaking = false;
    }
  } catch (error) {
    if (isStalled) throw new SyncSetback('Stalled', `the watch of ${what} of cluster "${cluster}" went silent`);
    throw error;
  } finally {
    following.isTaking = false;
    endQuestions();
    clearTimeout(deadline);
    following.watching = undefined;
    answer.cancel();
    if (lines > 0 || performance.now() - openedAtMs >= options.timing.healthyMs) waits.reset();
  }
  if (lines === 0 && performance.now() - openedAtMs < shortestWatchMs)
    throw new SyncSetback('Refused', `cluster "${cluster}" ends every watch of ${what} at once`);
}

async function take(following: Following, line: Buffer): Promise<void> {
  const { options, batcher, what } = following;
  const event = readMemberEvent(line);
  const atMs = options.now();
  if (event.type === 'ERROR') {
    const { code, reason } = event.status;
    if (code === 410 || reason === 'Expired' || reason === 'Gone') throw new Expired();
    // After an error of an unknown kind, changes may be missing, so the type is listed again.
    following.resourceVersion = '';
    const { cluster } = options.incarnation;
    throw new SyncSetback('Refused', `cluster "${cluster}" ended the watch of ${what} with an error (${code})`);
  }
  if (event.type === 'BOOKMARK') {
    if (!isVersion(event.resourceVersion)) throw new MalformedAnswer('a bookmark without resourceVersion');
    following.resourceVersion = event.resourceVersion;
    following.confirmed(atMs);
    return;
  }
  const row = options.reader.read(event.object);
  const isGone = event.type === 'DELETED';
  if (isVersion(row.resourceVersion)) following.resourceVersion = row.resourceVersion;
  if (!passes(options.filter, options.type.namespaced, row)) {
    batcher.reach(following.positionAt(atMs), false);
    return;
  }
  if (!isGone) following.seen = seenOf(row) ?? following.seen;
  const position = following.positionAt(atMs);
  if (event.type === 'ADDED') following.objects += 1;
  else if (isGone) following.objects = Math.max(0, following.objects - 1);
  options.onObject?.(isGone ? 'gone' : 'there', event.object);
  const key: ObjectKey = { namespace: row.namespace, name: row.name };
  await (isGone ? batcher.remove(key, position) : batcher.put(row, position));
}
