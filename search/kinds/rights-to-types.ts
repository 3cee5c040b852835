// Reads the caller's rights to the requested types.
import type { ScopeAnswer } from '../../rights/scopes.ts';
import { typeKey } from '../../query/types.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { askedAbout } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { indexedTypes, typesOf } from '../api/collection-types.ts';
import { visibilityOf } from '../api/plan.ts';
import type { Visibility } from '../api/plan.ts';
import type { AskedType } from '../request/plan-question.ts';
import type {
  CollectionNamesQuestion,
  CollectionQuestion,
  CountsQuestion,
  FreshnessQuestion,
  ObjectsQuestion,
  PostedQuestion,
  ValuesQuestion,
} from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Asked } from '../api/state.ts';

/** Finds out where the caller may use the verb of the request on the type in the path. */
export function rightsToPath(
  { request, question }: Pick<Asked<ObjectsQuestion>, 'question'> & { readonly request: Pick<IndexRequest, 'user'> },
  dependencies: AnswerDependencies,
): Promise<Visibility> {
  const { kind, path, asked } = question;
  const { group, resource, version, cluster } = path;
  return visibilityOf(
    {
      user: request.user,
      verb: kind,
      types: [{ group, resource, version }],
      clusters: asked.query.clusters,
      cluster,
      byOwner: asked.query.owner !== undefined,
    },
    dependencies,
  );
}

/** Finds out where the caller may list the types that the parameter `resource` names. */
export function rightsToNamed(
  { request, question }: Asked<PostedQuestion | CountsQuestion | ValuesQuestion>,
  dependencies: AnswerDependencies,
): Promise<Visibility> {
  const { types, asked } = question;
  return visibilityOf(
    {
      user: request.user,
      verb: 'list',
      types,
      clusters: asked.query.clusters,
      cluster: undefined,
      byOwner: asked.query.owner !== undefined,
    },
    dependencies,
  );
}

/**
 * What the caller may see of a collection. `members` are all indexed types of its groups, even those that the caller
 * may not see.
 */
export interface CollectionVisibility extends Visibility {
  readonly members: readonly AskedType[];
}

export async function rightsToCollection(
  { request, question }: Asked<CollectionQuestion>,
  dependencies: AnswerDependencies,
): Promise<CollectionVisibility> {
  const { kind, types, asked } = question;
  const indexed = indexedTypes(await dependencies.catalog());
  const members = types.members(indexed);
  const visibility = await visibilityOf(
    {
      user: request.user,
      verb: kind === 'collection' ? 'list' : 'watch',
      types: typesOf(types, indexed),
      clusters: asked.query.clusters,
      cluster: undefined,
      byOwner: asked.query.owner !== undefined,
      // For a group that only unreachable clusters have, the answer is the same as for a group that no cluster has.
      mayBeNone: types.groups.length > 0 || types.isOwn === true,
    },
    dependencies,
  );
  return { ...visibility, members };
}

/** The caller's rights to list each type in the index, with the catalog of these types. */
export interface Overview {
  readonly answer: ScopeAnswer;
  readonly catalog: Catalog;
}

/** Reads what the caller may list of each indexed type. */
export async function rightsToIndexed(
  { request }: Asked<CollectionNamesQuestion>,
  { rights, catalog }: AnswerDependencies,
): Promise<Overview> {
  const known = await catalog();
  return { answer: await rights.scope(request.user, 'list', indexedTypes(known)), catalog: known };
}

/** Reads what the caller may list of all indexed and selected types, or of those that the request names. */
export async function rightsToChosen(
  { request, question: { types: wanted, clusters } }: Asked<FreshnessQuestion>,
  { rights, catalog, chosen }: AnswerDependencies,
): Promise<Overview> {
  const known = await catalog();
  const types = askedAbout(known, chosen).filter((type) => wanted === undefined || wanted.includes(typeKey(type)));
  return { answer: await rights.scope(request.user, 'list', types, clusters), catalog: known };
}
