// Finds where a watch begins. Its rows and events are read while it is sent (../api/watch.ts).
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import { waitForVersion } from '../request/list-options.ts';
import { visibleAt, visibleNow } from '../api/plan.ts';
import type { Visibility } from '../api/plan.ts';
import type { CollectionQuestion, ObjectsQuestion } from '../api/question.ts';
import type { Planned } from '../api/state.ts';
import type { WatchQuestion } from '../watch/watch-question.ts';
import type { WatchPlan } from './plan-objects.ts';

/**
 * Finds the resourceVersion after which a watch sends events.
 * @throws GatewayError (rejects) MEMBER_TIMEOUT when the index does not reach the requested resourceVersion in time,
 * EXPIRED when the change log no longer contains it
 */
export async function fetchWatchStart(
  {
    plan: { start },
    visibility: { of },
  }: Planned<ObjectsQuestion | CollectionQuestion, Visibility, Pick<WatchPlan, 'start'>>,
  dependencies: FetchDependencies,
): Promise<Pick<WatchQuestion, 'after' | 'before'>> {
  const { store, issuedRights } = dependencies;
  const { after, fromNow, notOlderThan } = start;
  await waitForVersion(store, notOlderThan, after === undefined);
  const listScope = visibleNow({ ...of, verb: 'list' }, dependencies);
  return {
    after: fromNow ? store.resourceVersion() : after,
    before:
      after === undefined
        ? undefined
        : (scope) =>
            issuedRights.before(of, after, scope, listScope, (verb) => visibleAt({ ...of, verb }, after, dependencies)),
  };
}
