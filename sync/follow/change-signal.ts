// Notices quickly that a member cluster may serve other APIs: it watches the member's APIServices and stores nothing of
// them. When RBAC forbids that watch, changes are noticed by the regular discovery instead.
import { makeBackoff } from '../../lib/backoff.ts';
import { byteLinesOf } from '../../lib/watch-lines.ts';
import { pause } from './bounds.ts';
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
    let waitMs = 0;
    try {
      await watchOnce();
      waits.reset();
      waitMs = timing.firstBackoffMs;
    } catch (error) {
      const isRefused = error instanceof SyncSetback && ['Forbidden', 'Missing'].includes(error.fault.reason);
      waitMs = isRefused ? timing.discoveryMs : waits.next();
    }
    await pause(waitMs, signal);
  }

  async function watchOnce(): Promise<void> {
    const incarnation = { id: '', cluster };
    const resourceVersion = await currentVersion({ ask, incarnation, type, filter: {}, timing, signal });
    const seconds = Math.round(timing.watchSecondsMin + random() * (timing.watchSecondsMax - timing.watchSecondsMin));
    const query = { watch: 'true', resourceVersion, timeoutSeconds: String(Math.max(1, seconds)) };
    const path = typePath(type, {}, query);
    const answer = await ask({ path, headTimeoutMs: timing.headTimeoutMs, isWatch: true, signal });
    if (answer.status !== 200) throw await refusalOf(answer, cluster, 'watch of apiservices');
    const deadline = setTimeout(() => answer.cancel(), seconds * 1000 + timing.stallGraceMs);
    try {
      for await (const line of byteLinesOf(answer.chunks)) {
        const event = readMemberEvent(line);
        if (event.type === 'ERROR') return;
        if (event.type !== 'BOOKMARK') options.onChange();
      }
    } finally {
      clearTimeout(deadline);
      answer.cancel();
    }
  }
}
