// Finds the one cluster that has an object, for requests by an object's name that the index does not answer itself: a
// write, or a subresource such as a pod's log. Only clusters from which the caller may get the object count, so the
// answer tells nobody of an object that they cannot read.
import type { User } from '../../model/user.ts';
import { urlParameters } from '../../query/parameters.ts';
import { readQuery } from '../../query/read/read-query.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { readWithinRights } from '../api/current-rights.ts';
import { planOf, queryOf } from '../api/plan.ts';
import type { Plan } from '../api/plan.ts';
import type { AskedObjects } from '../request/inner-path.ts';
import type { ObjectsQuestion } from '../api/question.ts';
import { fetchObject } from './fetch-object.ts';
import { rightsToPath } from './rights-to-types.ts';

/** An object that a request names by type, namespace and name, but without its cluster. */
export interface NamedObject extends Pick<AskedObjects, 'group' | 'version' | 'resource' | 'namespace'> {
  readonly name: string;
}

/**
 * Returns the name of the only cluster from which this user may get the object.
 * @throws GatewayError (rejects) NOT_FOUND when there is none or the type is not indexed, CONFLICT when there are
 * several
 */
export async function ownerOf(user: User, object: NamedObject, dependencies: AnswerDependencies): Promise<string> {
  const { group, resource, namespace, name } = object;
  const parameters = urlParameters('');
  const target = { types: [{ group, resource }], name, ...(namespace === undefined ? {} : { namespace }) };
  const asked = readQuery(parameters, target);
  const path: AskedObjects = { kind: 'objects', cluster: undefined, legacyWatch: false, ...object };
  const question: ObjectsQuestion = { kind: 'get', path, parameters, asked };
  const planned = async (): Promise<Plan> =>
    await planOf(await rightsToPath({ request: { user }, question }, dependencies), dependencies);
  await dependencies.settled();
  const { found } = await readWithinRights(await planned(), dependencies.rights, dependencies.store, {
    scopedBy: (plan) => plan,
    read: ({ views, scope }, reads) =>
      fetchObject({ question, plan: { query: queryOf(asked.query, views), scope } }, { reads }),
    replan: planned,
  });
  return found.cluster;
}
