// Finds the position at which a watch begins. Rows and events are read later, while they are sent
// (search/watch/watch.ts).
import type { RowScope } from '../../rights/scope.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { requireInLog, waitForVersion } from '../list-options.ts';
import { visibleNow } from '../plan.ts';
import type { Sight } from '../plan.ts';
import type { ObjectsQuestion } from '../question.ts';
import type { Planned } from '../state.ts';
import type { WatchQuestion } from '../../watch/watch-question.ts';
import type { WatchPlan } from './plan-objects.ts';

/**
 * Finds the resourceVersion after which a watch sends events.
 * @throws GatewayError (rejects) MEMBER_TIMEOUT when the index does not reach the requested one in time, EXPIRED when
 * the change log no longer contains it
 */
export async function fetchWatchStart(
  { plan: { start }, sight: { of } }: Planned<ObjectsQuestion, Sight, WatchPlan>,
  dependencies: AnswerDependencies,
): Promise<Pick<WatchQuestion, 'after' | 'before'>> {
  const { store, issuedRights } = dependencies;
  const { after, fromNow, notOlderThan } = start;
  await waitForVersion(store, notOlderThan);
  await requireInLog(store, notOlderThan, after === undefined);
  const listScope = async (): Promise<RowScope> => (await visibleNow({ ...of, verb: 'list' }, dependencies)()).scope;
  return {
    after: fromNow ? store.resourceVersion() : after,
    before: after === undefined ? undefined : (scope) => issuedRights.before(of, after, scope, listScope),
  };
}
