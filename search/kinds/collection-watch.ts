// A watch of a collection: events with objects of all its types. Easy to get wrong: the watch reads only the types that
// the collection had when it began. So the watch is ended when the collection gets another type, and the client lists
// again.
import { GatewayError } from '../../model/errors.ts';
import { compileMatcher } from '../../query/match.ts';
import { queryOfTypes } from '../../query/read/query-of-types.ts';
import { collectionTable } from '../table/table.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../query/types.ts';
import type { WatchQuestion } from '../watch/watch-question.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import type { WatchAnswer } from '../api/answer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { collectionTypes, indexedTypes, typesOf } from '../api/collection-types.ts';
import { eventForm, objectForm, partialNames, tableEventForm } from '../api/forms.ts';
import { readWatchStart } from '../request/list-options.ts';
import type { WatchStart } from '../request/list-options.ts';
import { planOf, queryOf, visibleNow } from '../api/plan.ts';
import type { CollectionQuestion } from '../api/question.ts';
import type { Fetched, Authorized } from '../api/state.ts';
import { scopeConcerns } from '../request/visible.ts';
import { watchLimit } from './form-rows.ts';
import { requireWatchable } from './plan-objects.ts';
import { aboutRequest } from './plan-types.ts';
import type { RowsPlan } from './plan-types.ts';
import type { CollectionVisibility } from './rights-to-types.ts';

/** The plan of a watch of a collection: what is watched, and where it begins. */
export interface CollectionWatchPlan extends RowsPlan {
  readonly start: WatchStart;
}

/**
 * Plans a watch of a collection.
 * @throws GatewayError (rejects) METHOD_NOT_ALLOWED, BAD_REQUEST, INVALID or EXPIRED
 */
export async function planCollectionWatch(
  { request, question: { asked }, visibility }: Authorized<CollectionQuestion, CollectionVisibility>,
  dependencies: AnswerDependencies,
): Promise<CollectionWatchPlan> {
  requireWatchable(request, asked.query);
  const plan = await planOf(visibility, dependencies);
  const start = readWatchStart(asked, dependencies.store);
  const query = queryOfTypes(
    asked,
    plan.views.map(({ type }) => type),
  );
  const warnings = [...aboutRequest(...asked.warnings), ...plan.warnings];
  return { ...plan, query: { ...queryOf(query, plan.views), order: [] }, start, warnings };
}

export function formCollectionEvents(
  state: Fetched<
    CollectionQuestion,
    CollectionVisibility,
    CollectionWatchPlan,
    Pick<WatchQuestion, 'after' | 'before'>
  >,
  dependencies: AnswerDependencies,
): WatchAnswer {
  const { request, question, visibility, plan, found } = state;
  const { views, query, start, warnings } = plan;
  const { as, asked } = question;
  const { now, issuedRights, rights } = dependencies;
  const isPartial = as === 'PartialObjectMetadata';
  const names = { kind: 'CollectionResource', apiVersion: 'clusterpedia.io/v1beta1' };
  const keys = views.map(({ type }) => typeKey(type));
  const visible = visibleNow(visibility.of, dependencies);
  const requireSameTypes = typesCheck(state, new Set(keys), dependencies);
  return {
    kind: 'watch',
    watch: {
      ...found,
      query,
      matches: compileMatcher(query),
      types: views.map(({ type }) => type),
      keys,
      form:
        as === 'Table'
          ? tableEventForm(() => collectionTable(now()), objectForm(views, asked), 'Metadata')
          : eventForm(isPartial ? partialNames : names, objectForm(views, { ...asked, isPartial })),
      marksInitialEnd: start.marksInitialEnd,
      bookmarks: start.bookmarks,
      timeoutMs: watchLimit(request, start, dependencies),
      warnings,
      visible: async (atLeast) => {
        await requireSameTypes();
        return await visible(atLeast);
      },
      onRightsChange: (listener) =>
        rights.onChange(listener, visibility.of.byOwner === true ? undefined : visibility.of),
      onReached: (position, scope) => issuedRights.note(visibility.of, position, scope),
    },
  };
}

/**
 * Makes the check that ends the watch when the collection was redefined, or has another type of which the caller may
 * see objects. A type that the caller may not see does not end it, since that would tell of a cluster that has the
 * type. The check rejects with GatewayError EXPIRED.
 */
function typesCheck(
  { question, visibility: { of } }: Authorized<CollectionQuestion, CollectionVisibility>,
  watched: ReadonlySet<TypeKey>,
  { collections, catalog, rights }: AnswerDependencies,
): () => Promise<void> {
  let looked: { readonly catalog: Catalog; readonly others: readonly ResourceType[] } | undefined;
  return async () => {
    const now = collectionTypes(question.name, question.parameters, collections());
    if (now === undefined || definitionOf(now) !== definitionOf(question.types)) throw otherTypes();
    const known = await catalog();
    // This check runs after every commit of the index store. The catalog of a large fleet is long, so it is searched
    // only when it is another object than at the last check.
    if (looked?.catalog !== known) {
      const others = typesOf(now, indexedTypes(known)).filter((type) => !watched.has(typeKey(type)));
      looked = { catalog: known, others };
    }
    if (looked.others.length === 0) return;
    const { scope } = await rights.scope(of.user, 'watch', looked.others, of.clusters);
    for (const type of looked.others.map(typeKey)) {
      for (const incarnation of scope.grants.keys())
        if (known.has(incarnation, type) && scopeConcerns(scope, incarnation, type)) throw otherTypes();
    }
  };
}

function definitionOf({ named, groups }: CollectionQuestion['types']): string {
  return JSON.stringify([named, groups]);
}

function otherTypes(): GatewayError {
  return new GatewayError('EXPIRED', 'the collection has other types now: list again and watch from there');
}
