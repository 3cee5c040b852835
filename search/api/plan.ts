// What one question can be answered from: which types, in which version, of which rows. Easy to get wrong: what a
// caller may not reach is not there, so a cluster that does not exist and one that is out of reach get the same words.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { RowScope } from '../rights/scope.ts';
import type { ScopeAnswer } from '../rights/scopes.ts';
import type { StoredType } from '../stores/store.ts';
import { typeKey } from '../types.ts';
import type { Warning } from './answer-body.ts';
import { notIndexed, scopeOfViews, typeView } from './catalog.ts';
import type { Catalog, TypeView } from './catalog.ts';
import { clusterWarnings } from './cluster-warnings.ts';
import type { AnswerParts } from './parts.ts';
import type { Visible } from './visible.ts';
import type { PlanQuestion } from './plan-question.ts';

/** What of the index it can be answered from. */
export interface Plan {
  /** Of the types that are there; never empty for a question about one type. */
  readonly views: readonly TypeView[];
  readonly scope: RowScope;
  readonly warnings: readonly Warning[];
}

/**
 * Plans an answer.
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND or NOT_FOUND
 */
export async function planAnswer(parts: AnswerParts, question: PlanQuestion): Promise<Plan> {
  const { types, cluster, clusters, user, verb } = question;
  const answer = await parts.rights.scope(user, verb, types, clusters);
  const catalog = await parts.catalog();
  const viewsIn = (reachable: ScopeAnswer['reachable']): readonly TypeView[] => {
    const isKnown = ({ incarnation, type }: StoredType): boolean =>
      reachable.get(incarnation.cluster)?.has(typeKey(type)) === true &&
      (cluster === undefined || incarnation.cluster === cluster);
    return types.flatMap((type) => typeView(catalog, type, type.version, isKnown) ?? []);
  };
  let views = viewsIn(answer.reachable);
  if (views.length === 0) {
    // Of the clusters that it names none has the type, or there is none: then there are no rows. Only a path is to
    // something that is not there.
    const place = cluster === undefined ? undefined : [cluster];
    const isNarrower = clusters !== undefined && (place === undefined || !clusters.includes(cluster!));
    const { reachable } = isNarrower ? await parts.rights.scope(user, verb, types, place) : answer;
    if (cluster !== undefined && !reachable.has(cluster)) throw unknownCluster(cluster);
    views = viewsIn(reachable);
  }
  const [only] = types;
  if (views.length === 0 && types.length === 1 && question.mayBeNone !== true) {
    const named = cluster === undefined ? clusters : [cluster];
    const states = parts.statesOf(new Set([typeKey(only!)]));
    const reasons = clusterWarnings({ types: [only!], clusters: named }, answer, states, parts.now());
    throw notIndexed(only!, only!.version, cluster, reasons);
  }
  const scope = question.byOwner === true ? await scopeOfOwners(parts, question, catalog) : answer.scope;
  const shown = scopeOfViews(scope, views, catalog);
  const asked = views.map(({ type }) => type);
  const states = parts.statesOf(new Set(asked.map(typeKey)));
  const faults = clusterWarnings({ types: asked, clusters }, answer, states, parts.now());
  return { views, scope: shown.scope, warnings: [...faults, ...shown.warnings] };
}

/** What the caller sees of the types of the question and of all others, among which owners are. */
async function scopeOfOwners(
  { rights }: AnswerParts,
  { user, verb, types, clusters }: PlanQuestion,
  catalog: Catalog,
): Promise<RowScope> {
  const every = [...types, ...catalog.all.map(({ type }) => type)];
  const distinct = new Map(every.map(({ group, resource }) => [typeKey({ group, resource }), { group, resource }]));
  return (await rights.scope(user, verb, [...distinct.values()], clusters)).scope;
}

/** The same words for a cluster that is not there and one that the caller may not ask. */
export function unknownCluster(cluster: string): GatewayError {
  return new GatewayError('CLUSTER_NOT_FOUND', `cluster "${cluster}" not found, or nothing you could ask it for`, {
    kind: 'clusters',
    name: cluster,
  });
}

/** Rights of a watch, asked again as long as it lasts. */
export function visibleNow(parts: AnswerParts, question: PlanQuestion): () => Promise<Visible> {
  return async () => {
    const { scope, warnings } = await planAnswer(parts, question);
    return { scope, warnings };
  };
}

/** The query narrowed to what is there; one about nothing stays about nothing. */
export function queryOf(query: ListQuery, views: readonly TypeView[]): ListQuery {
  const there = new Set(views.map(({ type }) => typeKey(type)));
  return { ...query, types: query.types.filter((type) => there.has(typeKey(type))) };
}
