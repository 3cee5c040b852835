// Asks for the caller's rights to the types of a question.
import type { ScopeAnswer } from '../../rights/scopes.ts';
import { typeKey } from '../../types.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { askedAbout } from '../catalog.ts';
import type { Catalog } from '../catalog.ts';
import { distinctTypes, indexedTypes } from '../collection-types.ts';
import { see } from '../plan.ts';
import type { Sight } from '../plan.ts';
import type { AskedType } from '../plan-question.ts';
import type {
  CollectionNamesQuestion,
  CollectionQuestion,
  CountsQuestion,
  FreshnessQuestion,
  ObjectsQuestion,
  PostedQuestion,
  ValuesQuestion,
} from '../question.ts';
import type { Asked } from '../state.ts';

/** The type of a path, for the verb that is asked. */
export function rightsToPath(
  { request, question }: Asked<ObjectsQuestion>,
  dependencies: AnswerDependencies,
): Promise<Sight> {
  const { kind, path, asked } = question;
  const { group, resource, version, cluster } = path;
  return see(
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

/** The types that `resource=` names. */
export function rightsToNamed(
  { request, question }: Asked<PostedQuestion | CountsQuestion | ValuesQuestion>,
  dependencies: AnswerDependencies,
): Promise<Sight> {
  const { types, asked } = question;
  return see(
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

/** Of a collection, with all indexed types of the groups it names, visible to the caller or not. */
export interface CollectionSight extends Sight {
  readonly members: readonly AskedType[];
}

export async function rightsToCollection(
  { request, question }: Asked<CollectionQuestion>,
  dependencies: AnswerDependencies,
): Promise<CollectionSight> {
  const { types, asked } = question;
  const members = types.members(indexedTypes(await dependencies.catalog()));
  const sight = await see(
    {
      user: request.user,
      verb: 'list',
      types: distinctTypes([...members, ...types.named]),
      clusters: asked.query.clusters,
      cluster: undefined,
      // A group that only a cluster out of reach has is answered as one that no cluster has.
      mayBeNone: types.groups.length > 0,
    },
    dependencies,
  );
  return { ...sight, members };
}

/** What the caller may list of everything that is indexed. */
export interface Overview {
  readonly answer: ScopeAnswer;
  readonly catalog: Catalog;
}

/** Every type that is indexed. */
export async function rightsToIndexed(
  { request }: Asked<CollectionNamesQuestion>,
  { rights, catalog }: AnswerDependencies,
): Promise<Overview> {
  const known = await catalog();
  return { answer: await rights.scope(request.user, 'list', indexedTypes(known)), catalog: known };
}

/** Every type that is indexed or is to be, or those of them that are asked for. */
export async function rightsToChosen(
  { request, question: { types: wanted, clusters } }: Asked<FreshnessQuestion>,
  { rights, catalog, chosen }: AnswerDependencies,
): Promise<Overview> {
  const known = await catalog();
  const types = askedAbout(known, chosen).filter((type) => wanted === undefined || wanted.includes(typeKey(type)));
  return { answer: await rights.scope(request.user, 'list', types, clusters), catalog: known };
}
