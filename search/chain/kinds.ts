// What each step of chain.ts does for each kind of request. A kind without `rights` shows nothing that depends on the
// caller's rights, or they are checked elsewhere: in `fetch`, or by the cluster to which the request is forwarded. A
// kind that has neither `plan` nor `fetch` needs nothing from the index store.
import type { AnswerDependencies, FetchDependencies } from '../api/answer-dependencies.ts';
import type { Answer, EarlyAnswer } from '../api/answer.ts';
import { fetchDocument, formDocument, planDocument, rightsToDocuments } from '../kinds/documents.ts';
import { fetchFleet, formFleet, planFleet, rightsToFleet } from '../kinds/fleet.ts';
import { planLive } from '../kinds/live-types.ts';
import { fetchOperation } from '../kinds/operations.ts';
import type { Question } from '../api/question.ts';
import type { Asked, Fetched, Planned, Authorized } from '../api/state.ts';
import { fetchCollectionNames, formCollectionNames } from '../kinds/collection-names.ts';
import { formCollectionEvents, planCollectionWatch } from '../kinds/collection-watch.ts';
import { fetchFreshness } from '../kinds/fetch-freshness.ts';
import { fetchObject } from '../kinds/fetch-object.ts';
import { fetchList, fetchPage } from '../kinds/fetch-page.ts';
import { fetchCount, fetchFacets, fetchValues } from '../kinds/fetch-values.ts';
import { fetchWatchStart } from '../kinds/fetch-watch-start.ts';
import { formHealth, formIndexes, formJson, formVersion } from '../kinds/form-json.ts';
import { formCollection, formEvents, formList, formObject, formPosted } from '../kinds/form-rows.ts';
import { planList, planObject, planWatch } from '../kinds/plan-objects.ts';
import { planCollection, planForward, planNamed, planPosted } from '../kinds/plan-types.ts';
import {
  rightsToChosen,
  rightsToCollection,
  rightsToIndexed,
  rightsToNamed,
  rightsToPath,
} from '../kinds/rights-to-types.ts';
import { fetchWhatCan, fetchWhoCan } from '../kinds/who-can/fetch-access.ts';

const kinds: { readonly [K in Question['kind']]: Kind<Extract<Question, { readonly kind: K }>> } = {
  // Requests for objects of one type, by a Kubernetes path such as `/api/v1/pods`.
  list: kind({ waits: true, rights: rightsToPath, plan: planList, fetch: fetchList, form: formList }),
  get: kind({ waits: true, rights: rightsToPath, plan: planObject, fetch: fetchObject, form: formObject }),
  watch: kind({ waits: true, rights: rightsToPath, plan: planWatch, fetch: fetchWatchStart, form: formEvents }),
  forward: kind({ plan: planForward }),
  live: kind({ plan: planLive }),
  // Requests for one list with objects of several types.
  collection: kind({
    waits: true,
    rights: rightsToCollection,
    plan: planCollection,
    fetch: fetchList,
    form: formCollection,
  }),
  'collection-watch': kind({
    waits: true,
    rights: rightsToCollection,
    plan: planCollectionWatch,
    fetch: fetchWatchStart,
    form: formCollectionEvents,
  }),
  query: kind({ waits: true, rights: rightsToNamed, plan: planPosted, fetch: fetchPage, form: formPosted }),
  // Requests for numbers or values instead of objects: counts, facets, values of a field.
  counts: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchCount, form: formJson }),
  fleet: kind({ waits: true, rights: rightsToFleet, plan: planFleet, fetch: fetchFleet, form: formFleet }),
  facets: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchFacets, form: formJson }),
  values: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchValues, form: formJson }),
  // Requests for what the index contains and how fresh it is, for discovery, OpenAPI, version and health.
  freshness: kind({ rights: rightsToChosen, fetch: fetchFreshness, form: formJson }),
  collections: kind({ rights: rightsToIndexed, fetch: fetchCollectionNames, form: formCollectionNames }),
  document: kind({
    waits: true,
    rights: rightsToDocuments,
    plan: planDocument,
    fetch: fetchDocument,
    form: formDocument,
  }),
  indexes: kind({ form: formIndexes }),
  operation: kind({ fetch: fetchOperation, form: formJson }),
  // Requests about RBAC, which read the caller's rights to roles and bindings themselves.
  whocan: kind({ waits: true, fetch: fetchWhoCan, form: formJson }),
  whatcan: kind({ waits: true, fetch: fetchWhatCan, form: formJson }),
  version: kind({ form: formVersion }),
  health: kind({ form: formHealth }),
};

/**
 * The functions of the steps for one kind.
 * @param Q the type of the request
 * @param S the result of `rights`
 * @param P the result of `plan`
 * @param F the result of `fetch`
 */
interface Kind<Q = Question, S = unknown, P = unknown, F = unknown> {
  /** Whether requests of this kind wait, shortly after a start, until the first lists of the index are complete. */
  readonly waits?: boolean;
  readonly rights?: (asked: Asked<Q>, dependencies: AnswerDependencies) => Promise<S>;
  readonly plan?: (
    authorized: Authorized<Q, S>,
    dependencies: AnswerDependencies,
  ) => P | EarlyAnswer | Promise<P | EarlyAnswer>;
  readonly fetch?: (
    planned: Planned<Q, S, P>,
    dependencies: FetchDependencies,
  ) => F | EarlyAnswer | Promise<F | EarlyAnswer>;
  readonly form?: (fetched: Fetched<Q, S, P, F>, dependencies: AnswerDependencies) => Answer;
}

/** Makes the compiler check that each function takes the result of the function before it. */
function kind<Q, S, P, F>(parts: Kind<Q, S, P, F>): Kind<Q> {
  return parts as Kind<Q>;
}

/** Looks up the functions that answer a request of this kind. */
export function kindOf({ kind }: Question): Kind {
  return kinds[kind] as Kind;
}
