// Decides from which types, versions and rows a request can be answered. A cluster that the caller may not reach is
// treated as absent, so the messages for it and for a cluster that does not exist are the same.
import { GatewayError } from '../../model/errors.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { ScopeAnswer } from '../../rights/scopes.ts';
import type { StoredType } from '../../store/store.ts';
import { typeKey } from '../../query/types.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { AnswerDependencies } from './answer-dependencies.ts';
import { notIndexed, scopeOfViews, typeView } from '../catalog/catalog.ts';
import type { Catalog, TypeView } from '../catalog/catalog.ts';
import { clusterWarnings, prunedWarnings, unheldWarnings } from '../catalog/cluster-warnings.ts';
import type { ScopedPlan } from './current-rights.ts';
import type { AskedType, PlanQuestion } from '../request/plan-question.ts';

/** The parts of the index that are needed to make a plan, besides the request. */
type PlanDependencies = Pick<AnswerDependencies, 'rights' | 'catalog' | 'sync' | 'now'>;

/** The caller's rights to the requested types, with the catalog of indexed types at that time. */
export interface Visibility {
  readonly of: PlanQuestion;
  readonly answer: ScopeAnswer;
  /** The scope takes into account all RBAC changes up to this resourceVersion of the store. */
  readonly rightsUpTo: string;
  readonly catalog: Catalog;
}

/** The types and rows from which a request is answered. */
export interface Plan extends ScopedPlan {
  /**
   * Each requested type that exists, and in which version it is shown. Not empty for a request about a single type,
   * unless the request sets `mayBeNone`.
   */
  readonly views: readonly TypeView[];
  readonly warnings: readonly Warning[];
}

/**
 * Reads the caller's rights to the requested types.
 * @param atLeast a `rightsVersion` of the store: every change of rights up to it is taken into account
 */
export async function visibilityOf(
  of: PlanQuestion,
  { rights, catalog }: PlanDependencies,
  atLeast?: string,
): Promise<Visibility> {
  const rightsUpTo = await rights.current(atLeast);
  const answer = await rights.scope(of.user, of.verb, of.types, of.clusters);
  return { of, answer, rightsUpTo, catalog: await catalog() };
}

/**
 * Decides from which types and rows a request is answered, given what the caller may see.
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND or NOT_FOUND
 */
export async function planOf(visibility: Visibility, dependencies: PlanDependencies): Promise<Plan> {
  const { of, answer, rightsUpTo, catalog } = visibility;
  const { types, cluster, clusters } = of;
  const { views, ...shownByRights } = await shownOf(visibility, dependencies);
  const [only] = types;
  if (views.length === 0 && types.length === 1 && of.mayBeNone !== true)
    throw notIndexed(only!, only!.version, cluster, whyNot(visibility, only!, dependencies));
  // Owners may be of any type, so the caller's rights to all types are read as well.
  const shown =
    of.byOwner === true ? scopeOfViews(await scopeOfOwners(of, catalog, dependencies), views, catalog) : shownByRights;
  const asked = views.map(({ type }) => type);
  const states = dependencies.sync.stateOf(new Set(asked.map(typeKey)));
  const faults = clusterWarnings({ types: asked, clusters }, answer, states, dependencies.now());
  const pruned = prunedWarnings(catalog, asked, of, shown.scope);
  const unheld = unheldWarnings(catalog, asked, of, answer.scope);
  return { views, scope: shown.scope, rightsUpTo, warnings: [...faults, ...shown.warnings, ...pruned, ...unheld] };
}

/** The requested types, each in the version in which it is shown, and the rows that can be shown in that version. */
interface Shown extends ReturnType<typeof scopeOfViews> {
  readonly views: readonly TypeView[];
}

/**
 * Caches the results of `shownOf` by the caller's rights, and then by the requested types and clusters. While the
 * rights do not change, `Scopes` returns the same ScopeAnswer object.
 */
const remembered = new WeakMap<ScopeAnswer, { readonly catalog: Catalog; readonly shown: Map<string, Shown> }>();
/**
 * The maximum number of results in the cache for one ScopeAnswer. Such results differ in the requested clusters and in
 * the requested version of a type.
 */
const mostShown = 100;

async function shownOf(visibility: Visibility, dependencies: PlanDependencies): Promise<Shown> {
  const { of, answer, catalog } = visibility;
  let known = remembered.get(answer);
  if (known?.catalog !== catalog) remembered.set(answer, (known = { catalog, shown: new Map() }));
  const key = JSON.stringify([of.types, of.cluster, of.clusters]);
  let shown = known.shown.get(key);
  if (shown === undefined) {
    const views = await viewsOf(visibility, dependencies);
    shown = { views, ...scopeOfViews(answer.scope, views, catalog) };
    // An empty result is not kept, because it also depends on rights to other clusters.
    if (views.length > 0 && known.shown.size < mostShown) known.shown.set(key, shown);
  }
  return shown;
}

/** Returns the reasons why clusters that the caller may see do not have the type in the index. */
function whyNot(
  { of: { cluster, clusters }, answer }: Visibility,
  type: AskedType,
  { sync, now }: PlanDependencies,
): readonly Warning[] {
  const named = cluster === undefined ? clusters : [cluster];
  return clusterWarnings({ types: [type], clusters: named }, answer, sync.stateOf(new Set([typeKey(type)])), now());
}

/**
 * Reads what the caller may see, and decides from which types and rows to answer, in one call. It serves further
 * queries within one request.
 * @throws GatewayError as {@link planOf}
 */
export async function planAnswer(of: PlanQuestion, dependencies: PlanDependencies): Promise<Plan> {
  return planOf(await visibilityOf(of, dependencies), dependencies);
}

/**
 * Finds how each requested type can be shown, from the clusters that the caller may reach.
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND
 */
async function viewsOf(
  { of, answer, catalog }: Visibility,
  { rights }: PlanDependencies,
): Promise<readonly TypeView[]> {
  const { types, cluster, clusters, user, verb } = of;
  const viewsIn = (reachable: ScopeAnswer['reachable']): readonly TypeView[] => {
    const isKnown = ({ incarnation, type }: StoredType): boolean =>
      reachable.get(incarnation.cluster)?.has(typeKey(type)) === true &&
      (cluster === undefined || incarnation.cluster === cluster);
    return types.flatMap((type) => typeView(catalog, type, type.version, isKnown) ?? []);
  };
  const views = viewsIn(answer.reachable);
  if (views.length > 0) return views;
  // None of the clusters that the request names has the type. If another cluster has it, the answer is an empty list.
  // If no cluster has it, the path does not exist.
  const place = cluster === undefined ? undefined : [cluster];
  const isNarrower = clusters !== undefined && (place === undefined || !clusters.includes(cluster!));
  const { reachable } = isNarrower ? await rights.scope(user, verb, types, place) : answer;
  if (cluster !== undefined && !reachable.has(cluster)) throw unknownCluster(cluster);
  return viewsIn(reachable);
}

/**
 * The rows that the caller may see of the requested types and of all other types in the index, since an owner can be of
 * any type.
 */
async function scopeOfOwners(
  { user, verb, types, clusters }: PlanQuestion,
  catalog: Catalog,
  { rights }: PlanDependencies,
): Promise<RowScope> {
  const every = [...types, ...catalog.all.map(({ type }) => type)];
  const distinct = new Map(every.map(({ group, resource }) => [typeKey({ group, resource }), { group, resource }]));
  return (await rights.scope(user, verb, [...distinct.values()], clusters)).scope;
}

/**
 * The error for a cluster that does not exist, and for one that the caller may not reach. The text is the same for
 * both.
 */
export function unknownCluster(cluster: string): GatewayError {
  return new GatewayError('CLUSTER_NOT_FOUND', `cluster "${cluster}" not found, or you may not read anything in it`, {
    kind: 'clusters',
    name: cluster,
  });
}

/**
 * Makes a function that returns the current rights of a watch. Calling it is cheap while no rights have changed. When
 * the types are no longer indexed, the rights are empty, so the watch sends DELETED for all its objects.
 */
export function visibleNow(of: PlanQuestion, dependencies: PlanDependencies): (atLeast?: string) => Promise<RowScope> {
  return async (atLeast) => {
    const visibility = await visibilityOf({ ...of, mayBeNone: true }, dependencies, atLeast);
    // A watch reports warnings only at its start, so they are not computed here.
    if (of.byOwner === true) return (await planOf(visibility, dependencies)).scope;
    const { views, scope } = await shownOf(visibility, dependencies);
    return views.length > 0 ? scope : (await planOf(visibility, dependencies)).scope;
  };
}

/**
 * Returns the rights that a watch or list of these types had at an earlier resourceVersion; undefined when they cannot
 * be determined.
 * @throws GatewayError (rejects) with code EXPIRED when the log does not reach back that far
 */
export async function visibleAt(
  of: PlanQuestion,
  position: string,
  dependencies: PlanDependencies,
): Promise<RowScope | undefined> {
  if (of.byOwner === true) return undefined;
  const visibility = await visibilityOf(of, dependencies);
  const scope = await dependencies.rights.scopeAt(of, position);
  return scope && (await planOf({ ...visibility, answer: { ...visibility.answer, scope } }, dependencies)).scope;
}

/** The query limited to the types that can be shown (`views`). When no type can be, the query matches nothing. */
export function queryOf(query: ListQuery, views: readonly TypeView[]): ListQuery {
  const there = new Set(views.map(({ type }) => typeKey(type)));
  return { ...query, types: query.types.filter((type) => there.has(typeKey(type))) };
}
