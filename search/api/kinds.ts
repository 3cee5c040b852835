// What differs between the kinds of question. Each step of chain.ts looks here for its part. A kind without `rights`
// shows nothing of the index that depends on the caller (a forwarded question is decided by its cluster); one without
// `plan` or `fetch` needs nothing of the store.
import type { AnswerDependencies } from './answer-dependencies.ts';
import type { Answer, EarlyAnswer } from './answer.ts';
import { fetchDocument, formDocument, planDocument, rightsToDocuments } from './documents/documents.ts';
import type { Question } from './question.ts';
import type { Asked, Fetched, Planned, Seen } from './state.ts';
import { fetchCollectionNames, formCollectionNames } from './steps/collection-names.ts';
import { fetchFreshness } from './steps/fetch-freshness.ts';
import { fetchObject } from './steps/fetch-object.ts';
import { fetchList, fetchPage } from './steps/fetch-page.ts';
import { fetchCount, fetchFacets, fetchValues } from './steps/fetch-values.ts';
import { fetchWatchStart } from './steps/fetch-watch-start.ts';
import { formHealth, formIndexes, formJson, formVersion } from './steps/form-json.ts';
import { formCollection, formEvents, formList, formObject, formPosted } from './steps/form-rows.ts';
import { planList, planObject, planWatch } from './steps/plan-objects.ts';
import { planCollection, planForward, planNamed, planPosted } from './steps/plan-types.ts';
import {
  rightsToChosen,
  rightsToCollection,
  rightsToIndexed,
  rightsToNamed,
  rightsToPath,
} from './steps/rights-to-types.ts';

const kinds: { readonly [K in Question['kind']]: AnyKind<Extract<Question, { readonly kind: K }>> } = {
  // Paths of Kubernetes: objects of one type.
  list: kind({ waits: true, rights: rightsToPath, plan: planList, fetch: fetchList, form: formList }),
  get: kind({ waits: true, rights: rightsToPath, plan: planObject, fetch: fetchObject, form: formObject }),
  watch: kind({ waits: true, rights: rightsToPath, plan: planWatch, fetch: fetchWatchStart, form: formEvents }),
  forward: kind({ plan: planForward }),
  // Several types in one list.
  collection: kind({
    waits: true,
    rights: rightsToCollection,
    plan: planCollection,
    fetch: fetchPage,
    form: formCollection,
  }),
  query: kind({ waits: true, rights: rightsToNamed, plan: planPosted, fetch: fetchPage, form: formPosted }),
  // Numbers and values instead of rows.
  counts: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchCount, form: formJson }),
  facets: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchFacets, form: formJson }),
  values: kind({ waits: true, rights: rightsToNamed, plan: planNamed, fetch: fetchValues, form: formJson }),
  // What there is.
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
  version: kind({ form: formVersion }),
  health: kind({ form: formHealth }),
};

/**
 * What the steps do for one kind. @param Q question @param S what `rights` finds @param P plan @param F what is found
 */
interface Kind<Q, S, P, F> {
  /** Soon after a start, its answer waits a moment for what is read for the first time. */
  readonly waits?: boolean;
  readonly rights?: (asked: Asked<Q>, dependencies: AnswerDependencies) => Promise<S>;
  readonly plan?: (seen: Seen<Q, S>, dependencies: AnswerDependencies) => P | EarlyAnswer | Promise<P | EarlyAnswer>;
  readonly fetch?: (
    planned: Planned<Q, S, P>,
    dependencies: AnswerDependencies,
  ) => F | EarlyAnswer | Promise<F | EarlyAnswer>;
  readonly form?: (fetched: Fetched<Q, S, P, F>, dependencies: AnswerDependencies) => Answer;
}

/** A kind of which only the question is known. What its steps hand on to each other was checked by {@link kind}. */
interface AnyKind<Q> {
  readonly waits?: boolean;
  readonly rights?: (asked: Asked<Q>, dependencies: AnswerDependencies) => unknown;
  readonly plan?: (seen: Seen<Q, never>, dependencies: AnswerDependencies) => unknown;
  readonly fetch?: (planned: Planned<Q, never, never>, dependencies: AnswerDependencies) => unknown;
  readonly form?: (fetched: Fetched<Q, never, never, never>, dependencies: AnswerDependencies) => Answer;
}

/** Lets the compiler check that each part of a kind takes what the parts before it give. */
function kind<Q, S, P, F>(parts: Kind<Q, S, P, F>): AnyKind<Q> {
  return parts;
}

/** What is done for a question. */
export function kindOf({ kind }: Question): AnyKind<never> {
  return kinds[kind];
}
