// READ THIS FIRST. Every request to the index passes these steps from top to bottom. Each step is a small function in
// a file of its own beside this one. What differs between the kinds of requests (list, watch, counts and so on) is in
// kinds.ts.
// Easy to get wrong: the order. The caller's rights are read before anything is planned, so nothing is read, counted or
// named that the caller may not see.
//
// A step takes the state that the steps before it have built (types in ../api/state.ts), and returns the state with its
// own result. While nothing has been sent, a step may throw a GatewayError, which the gateway answers as a
// metav1.Status.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Step } from '../api/state.ts';
import { fetch } from './fetch.ts';
import { form } from './form.ts';
import { plan } from './plan.ts';
import { read } from './read.ts';
import { rights } from './rights.ts';
import { send } from './send.ts';
import { settle } from './settle.ts';

const chain = linked(
  read, //    understands the request: kind, path, parameters, conditions; may refuse with 400, 404, 405 or 406
  settle, //  shortly after a start, waits until the first lists of the index are complete
  rights, //  finds out what the caller may see of the requested types
  plan, //    decides what the store is asked: types, versions, conditions, visible rows; 404, 406, 410 or 422
  fetch, //   reads a page, an object, counts, values, a document, or a watch's start; 404, 409, 410 or 504
  form, //    makes the bytes: list, Table, PartialObjectMetadata, collection or events
  send, //    sends the answer at once, row by row, as a watch, or passed on from a member cluster
);

/**
 * Answers one request, and resolves when the answer has been sent.
 * @throws GatewayError (rejects) only while nothing has been sent
 */
export async function answerIndexRequest(request: IndexRequest, dependencies: AnswerDependencies): Promise<void> {
  let state: unknown = request;
  for (const step of chain) state = await step(state as never, dependencies);
}

/** Makes the compiler check that each step takes the result of the step before it. */
function linked<A, B, C, D, E, F>(
  ...steps: [Step<IndexRequest, A>, Step<A, B>, Step<B, C>, Step<C, D>, Step<D, E>, Step<E, F>, Step<F, void>]
): readonly Step<never, unknown>[] {
  return steps;
}
