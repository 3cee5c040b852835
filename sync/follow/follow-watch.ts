// Watches a type and writes each event into the index store, until the watch ends.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { byteLinesOf } from '../../lib/watch-lines.ts';
import { isExpired, needsList, readWatch, watchLength, watchQuery } from '../../kube/watch.ts';
import type { ObjectKey } from '../../query/types.ts';
import { Expired, refusalOf, SyncSetback } from '../member/member-faults.ts';
import { passes, typePath } from '../member/member-paths.ts';
import { confirmWhileQuiet } from './follow-check.ts';
import type { Following, Step } from './following.ts';
import { isVersion } from './list-items.ts';
import { seenOf } from './relist.ts';
import { readMemberEvent } from './watch-event.ts';

/**
 * Watches the type until the watch ends, and returns the next step.
 * @throws SyncSetback, GatewayError, MalformedAnswer, Expired (rejects)
 */
export async function watch(following: Following): Promise<Step> {
  const { options, what, signal } = following;
  const { timing, random, type, filter } = options;
  const lastsMs = watchLength(timing, random);
  const answer = await options.ask({
    path: typePath(type, filter, watchQuery(following.resourceVersion, lastsMs)),
    headTimeoutMs: timing.headTimeoutMs,
    isWatch: true,
    signal,
  });
  if (answer.status !== 200) {
    const refusal = await refusalOf(answer, options.incarnation.cluster, `watch of ${what}`);
    if (needsList(answer.status)) following.resourceVersion = '';
    throw refusal;
  }
  following.enter('watching');
  following.busy.reset();
  await readEvents(following, answer, lastsMs);
  return 'check';
}

/** Applies the events of an open watch until it ends. @param lastsMs how long the member cluster keeps it open */
async function readEvents(following: Following, answer: MemberAnswer, lastsMs: number): Promise<void> {
  const { options, what, waits } = following;
  const { cluster } = options.incarnation;
  let hasLines = false;
  following.watching = answer;
  const endQuestions = confirmWhileQuiet(following, () => hasLines);
  const { isHealthy, isRefused, isStalled, error } = await readWatch(byteLinesOf(answer.chunks), {
    timing: options.timing,
    lastsMs,
    cancel: () => answer.cancel(),
    async take(line) {
      hasLines = true;
      following.isTaking = true;
      await take(following, line);
      following.isTaking = false;
    },
  });
  following.isTaking = false;
  following.watching = undefined;
  endQuestions();
  if (isHealthy) {
    waits.reset();
    following.expiry.healthy();
  }
  if (isStalled) throw new SyncSetback('Stalled', `the watch of ${what} of cluster "${cluster}" went silent`);
  if (error !== undefined) throw error;
  if (isRefused) throw new SyncSetback('Refused', `cluster "${cluster}" ends every watch of ${what} at once`);
}

async function take(following: Following, line: Buffer): Promise<void> {
  const { options, batcher, what } = following;
  const event = readMemberEvent(line);
  const atMs = options.now();
  if (event.type === 'ERROR') {
    if (isExpired(event.status)) throw new Expired();
    // After an error of an unknown kind, changes may be missing, so the type is listed again.
    following.resourceVersion = '';
    const { cluster } = options.incarnation;
    throw new SyncSetback(
      'Refused',
      `cluster "${cluster}" ended the watch of ${what} with an error (${event.status.code})`,
    );
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
