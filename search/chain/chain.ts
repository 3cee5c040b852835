// READ THIS FIRST. Every request to the index passes the steps of answerIndexRequest from top to bottom. What differs
// between the kinds of requests (list, watch, counts and so on) is in kinds.ts, where the kind is looked up once.
// Easy to get wrong: the order. The caller's rights are read before anything is planned, so nothing is read, counted or
// named that the caller may not see.
//
// While nothing has been sent, a step may throw a GatewayError, which the gateway answers as a metav1.Status.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { EarlyAnswer } from '../api/answer.ts';
import { readWithinRights } from '../api/current-rights.ts';
import type { ScopedPlan } from '../api/current-rights.ts';
import type { Planned } from '../api/state.ts';
import type { IndexRequest } from '../request/request.ts';
import { kindOf } from './kinds.ts';
import { read } from './read.ts';
import { send } from './send.ts';

/**
 * Answers one request, and resolves when the answer has been sent.
 * @throws GatewayError (rejects) only while nothing has been sent
 */
export async function answerIndexRequest(request: IndexRequest, dependencies: AnswerDependencies): Promise<void> {
  // 1. Understands the request: kind, path, parameters, conditions. May refuse with 400, 404, 405 or 406.
  const question = await read(request, dependencies);
  const kind = kindOf(question);

  // 2. Shortly after a start, waits until the first lists of the index are complete.
  if (kind.waits === true) await dependencies.settled();

  const planned = async (): Promise<Planned> => {
    // 3. Finds out what the caller may see of the requested types, by the RBAC of each cluster.
    const visibility = await kind.rights?.({ request, question }, dependencies);
    // 4. Decides what the store is asked: types, versions, conditions, visible rows. 404, 406, 410 or 422.
    const plan = await kind.plan?.({ request, question, visibility }, dependencies);
    return { request, question, visibility, plan };
  };

  // 5. Reads a page, an object, counts, values, a document, or a watch's start. 404, 409, 410 or 504. When the caller's
  // rights have changed meanwhile, steps 3 to 5 are repeated.
  const { plan: state, found } = await readWithinRights(await planned(), dependencies.rights, dependencies.store, {
    scopedBy: ({ plan }) => (isScoped(plan) ? plan : undefined),
    read: (each, reads) =>
      each.plan instanceof EarlyAnswer ? each.plan : kind.fetch?.(each, { ...dependencies, reads }),
    replan: planned,
  });

  // 6. Makes the bytes: list, Table, PartialObjectMetadata, collection or events.
  const answer = found instanceof EarlyAnswer ? found.answer : kind.form!({ ...state, found }, dependencies);

  // 7. Sends the answer at once, row by row, as a watch, or passed on from a member cluster.
  await send(request, answer, dependencies);
}

/** Whether a plan reads rows. Only such plans have a scope, which must be checked for changed rights. */
function isScoped(plan: unknown): plan is ScopedPlan {
  return typeof plan === 'object' && plan !== null && 'rightsUpTo' in plan;
}
