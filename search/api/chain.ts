// READ THIS FIRST. Every question to the index passes these steps from top to bottom; each is a small function in a
// file of its own below steps/. What differs between kinds of question (list, watch, counts, ...) stands in kinds.ts.
// Easy to get wrong: the order. Nothing is planned before the rights of the caller are read, so nothing is read,
// counted or named that the caller may not see.
//
//   a step takes the state the steps before it have built (state.ts has the types) and returns a richer one,
//   or throws a GatewayError while nothing was sent, which the gateway makes a metav1.Status.
import type { AnswerDependencies } from './answer-dependencies.ts';
import type { IndexRequest } from './request.ts';
import type { Step } from './state.ts';
import { fetch } from './steps/fetch.ts';
import { form } from './steps/form.ts';
import { plan } from './steps/plan.ts';
import { read } from './steps/read.ts';
import { rights } from './steps/rights.ts';
import { send } from './steps/send.ts';
import { settle } from './steps/settle.ts';

const chain = linked(
  read, //    the question: its kind, path, parameters, conditions; 400, 404, 405 or 406
  settle, //  soon after a start, a short wait for what is read for the first time
  rights, //  what the caller may see of the types that are asked for
  plan, //    what the store is asked: types in their versions, conditions, rows in reach; 404, 406, 410 or 422
  fetch, //   a page, one object, counts, values, a document, where a watch begins; 404, 409, 410 or 504
  form, //    the bytes: list, Table, metadata alone, collection, events
  send, //    whole, row by row, as a watch, or relayed from the cluster itself ──► end
);

/** Answers one request; resolves when the exchange is over. @throws GatewayError (rejects) while nothing was sent */
export async function answerIndexRequest(request: IndexRequest, dependencies: AnswerDependencies): Promise<void> {
  let state: unknown = request;
  for (const step of chain) state = await step(state as never, dependencies);
}

/** Lets the compiler check that each step's result is what the next step takes. */
function linked<A, B, C, D, E, F>(
  ...steps: [Step<IndexRequest, A>, Step<A, B>, Step<B, C>, Step<C, D>, Step<D, E>, Step<E, F>, Step<F, void>]
): readonly Step<never, unknown>[] {
  return steps;
}
