// Notices quickly that a member cluster may serve other APIs: it watches the member's APIServices and stores nothing of
// them. When RBAC forbids that watch, changes are noticed by the regular discovery instead.
import { makeBackoff } from '../../lib/backoff.ts';
import { byteLinesOf } from '../../lib/watch-lines.ts';
import { readWatch, watchLength, watchQuery } from '../../kube/watch.ts';
import { pause } from '../../lib/concurrency/gates.ts';
import { refusalOf, SyncSetback } from '../member/member-faults.ts';
import { currentVersion } from './relist.ts';
import type { AskMember, SyncTiming } from '../member/sync-types.ts';
import { typePath } from '../member/member-paths.ts';
import { readMemberEvent } from './watch-event.ts';

const type = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  versions: ['v1'],
  resource: 'apiservices',
  kind: 'APIService',
  singular: 'apiservice',
  shortNames: [],
  categories: [],
  namespaced: false,
  convertible: false,
} as const;

/** Calls `onChange` after each change of an APIService, until the signal is aborted. Never rejects. */
export async function watchApiServices(options: {
  readonly ask: AskMember;
  readonly cluster: string;
  readonly timing: SyncTiming;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
}): Promise<void> {
  const { ask, cluster, timing, random, signal } = options;
  const waits = makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random);
  while (!signal.aborted) {
    let isForbidden = false;
    try {
      await watchOnce();
    } catch (error) {
      isForbidden = error instanceof SyncSetback && ['Forbidden', 'Missing'].includes(error.fault.reason);
    }
    await pause(isForbidden ? timing.discoveryMs : waits.next(), signal);
  }

  async function watchOnce(): Promise<void> {
    const incarnation = { id: '', cluster };
    const resourceVersion = await currentVersion({ ask, incarnation, type, filter: {}, timing, signal });
    const lastsMs = watchLength(timing, random);
    const path = typePath(type, {}, watchQuery(resourceVersion, lastsMs));
    const answer = await ask({ path, headTimeoutMs: timing.headTimeoutMs, isWatch: true, signal });
    if (answer.status !== 200) throw await refusalOf(answer, cluster, 'watch of apiservices');
    const { isHealthy, error } = await readWatch(byteLinesOf(answer.chunks), {
      timing,
      lastsMs,
      cancel: () => answer.cancel(),
      take(line) {
        const event = readMemberEvent(line);
        if (event.type === 'ERROR')
          throw new SyncSetback('Refused', `cluster "${cluster}" ended the watch of apiservices with an error`);
        if (event.type !== 'BOOKMARK') options.onChange();
      },
    });
    if (isHealthy) waits.reset();
    if (error !== undefined) throw error;
  }
}
