// Reports how up to date the index is, for each cluster and each type that the caller may list.
import { indexedOf } from '../../sync/indexed.ts';
import type { TypeState } from '../../sync/member/sync-types.ts';
import { typeKey } from '../../query/types.ts';
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import { searchVersion } from '../catalog/catalog.ts';
import type { FreshnessQuestion } from '../api/question.ts';
import type { Planned } from '../api/state.ts';
import type { Overview } from './rights-to-types.ts';

export function fetchFreshness(
  { visibility: { answer } }: Planned<FreshnessQuestion, Overview>,
  { sync, store, now }: FetchDependencies,
): object {
  const nowMs = now();
  const clusters = sync
    .state()
    .filter(({ cluster }) => answer.reachable.has(cluster))
    .map((state) => {
      const { cluster, incarnation, fault, types } = state;
      const { status, reason, message } = indexedOf(state);
      const hidden = answer.hidden.find((each) => each.cluster === cluster);
      const seen = incarnation === undefined ? undefined : answer.scope.grants.get(incarnation.id);
      return {
        cluster,
        indexed: { status, reason, message },
        ...(fault === undefined ? {} : { fault: { reason: fault.reason, message: fault.message } }),
        ...(hidden === undefined ? {} : { hidden: { reason: hidden.reason, message: hidden.message } }),
        resources: types
          .filter(({ type, isChosen }) => isChosen && seen?.has(typeKey(type)) === true)
          .map((type) => ({
            ...typeFreshness(type, nowMs),
            ...leftOutOf(type, seen?.get(typeKey(type.type)) === 'all'),
          })),
      };
    });
  return { kind: 'Freshness', apiVersion: searchVersion, resourceVersion: store.resourceVersion(), clusters };
}

/**
 * What the index cannot store of a type. The number of these objects and an example are shown only to callers who may
 * see all objects of the type.
 */
function leftOutOf({ leftOut }: TypeState, seesAll: boolean): object {
  if (leftOut === undefined) return {};
  return { leftOut: seesAll ? { objects: leftOut.count, example: leftOut.example } : {} };
}

function typeFreshness(
  { type, phase, isWhole, readAs, confirmedAtMs, lagMs, fault }: TypeState,
  nowMs: number,
): object {
  return {
    resource: `${type.resource}.${type.version}.${type.group}`,
    phase,
    whole: isWhole,
    ...(readAs === undefined ? {} : { readAs }),
    ...(confirmedAtMs === undefined
      ? {}
      : {
          confirmedAt: new Date(confirmedAtMs).toISOString(),
          ageSeconds: Math.max(0, Math.round((nowMs - confirmedAtMs) / 1000)),
        }),
    lagMilliseconds: lagMs,
    ...(fault === undefined ? {} : { fault: { reason: fault.reason, message: fault.message } }),
  };
}
