// Decides how requests are answered that name their types in a parameter, that are for a collection, or that are
// forwarded to a cluster.
import { queryOfTypes } from '../../query/read/query-of-types.ts';
import { typeKey } from '../../query/types.ts';
import type { TypeInfo } from '../../query/types.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import type { Warning } from '../answer/answer-body.ts';
import { EarlyAnswer } from '../api/answer.ts';
import { notIndexed } from '../catalog/catalog.ts';
import { distinctTypes } from '../api/collection-types.ts';
import { readListVersion } from '../request/list-options.ts';
import type { ListVersion } from '../request/list-options.ts';
import { planOf, queryOf } from '../api/plan.ts';
import type { Plan, Visibility } from '../api/plan.ts';
import type {
  CollectionQuestion,
  CountsQuestion,
  ForwardQuestion,
  PostedQuestion,
  ValuesQuestion,
} from '../api/question.ts';
import type { Authorized } from '../api/state.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { CollectionVisibility } from './rights-to-types.ts';

/** The plan of a request about rows, with the query for the index store. */
export interface RowsPlan extends Plan {
  readonly query: ListQuery;
}

/** The plan of a list, with the resourceVersion whose rows the list must show. */
export interface PagePlan extends RowsPlan {
  readonly version: ListVersion;
}

/** Makes warnings that are about the request and not about a cluster. */
export function aboutRequest(...texts: readonly string[]): readonly Warning[] {
  return texts.map((text) => ({ cluster: undefined, text }));
}

/**
 * Decides what the index store is asked for counts, facets and values.
 * @throws GatewayError (rejects) NOT_FOUND when none of the types is indexed
 */
export async function planNamed(
  { question, visibility }: Authorized<CountsQuestion | ValuesQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<RowsPlan> {
  const { asked } = question;
  const plan = await planIndexed(question, visibility, dependencies);
  const own = question.kind === 'counts' ? [] : question.warnings;
  const warnings = [...aboutRequest(...own, ...asked.warnings), ...plan.warnings];
  return { ...plan, query: queryOf(asked.query, plan.views), warnings };
}

/**
 * Decides what the index store is asked for a POSTed query.
 * @throws GatewayError (rejects) NOT_FOUND when none of the types is indexed; also INVALID or EXPIRED, see {@link
 * readListVersion}
 */
export async function planPosted(
  { question, visibility }: Authorized<PostedQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<PagePlan> {
  const { asked } = question;
  const plan = await planIndexed(question, visibility, dependencies);
  return {
    ...plan,
    query: queryOf(asked.query, plan.views),
    version: readListVersion(asked, dependencies.store),
    warnings: [...aboutRequest(...asked.pageWarnings, ...asked.warnings), ...plan.warnings],
  };
}

/**
 * Decides from which of several types a request is answered, and adds a warning for each type that is not indexed.
 * Otherwise a misspelt type would go unnoticed.
 */
async function planIndexed(
  { types }: { readonly types: PostedQuestion['types'] },
  visibility: Visibility,
  dependencies: AnswerDependencies,
): Promise<Plan> {
  const plan = await planOf(visibility, dependencies);
  const missing = types.filter((type) => !plan.views.some((view) => typeKey(view.type) === typeKey(type)));
  const [first] = missing;
  if (plan.views.length === 0) throw notIndexed(first!, first!.version, undefined, plan.warnings);
  const unknown = aboutRequest(...missing.map((type) => notIndexed(type, type.version).message));
  return { ...plan, warnings: [...unknown, ...plan.warnings] };
}

/**
 * The plan of a collection. `shown` are those types of the collection of which the caller may see at least one object.
 */
export interface CollectionPlan extends PagePlan {
  readonly shown: readonly TypeInfo[];
}

export async function planCollection(
  { question, visibility }: Authorized<CollectionQuestion, CollectionVisibility>,
  dependencies: AnswerDependencies,
): Promise<CollectionPlan> {
  const { asked, types } = question;
  const plan = await planOf(visibility, dependencies);
  const seen = new Set([...plan.scope.grants.values()].flatMap((granted) => [...granted.keys()]));
  const members = visibility.members.filter((type) => seen.has(typeKey(type)));
  const query = queryOfTypes(asked, distinctTypes([...members, ...types.named]));
  return {
    ...plan,
    query: queryOf(query, plan.views),
    shown: plan.views.map(({ type }) => type).filter((type) => seen.has(typeKey(type))),
    version: readListVersion(asked, dependencies.store),
    warnings: [...aboutRequest(...asked.pageWarnings, ...asked.warnings), ...plan.warnings],
  };
}

export function planForward({ question: { cluster, path, query } }: Authorized<ForwardQuestion>): EarlyAnswer {
  return new EarlyAnswer({ kind: 'relayed', clusters: [cluster], path, query });
}
