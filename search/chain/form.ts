// Step 6 of chain.ts: turns what `fetch` has read into the form that the client requested.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { EarlyAnswer } from '../api/answer.ts';
import { kindOf } from './kinds.ts';
import type { Fetched, Formed } from '../api/state.ts';

export function form(state: Fetched, dependencies: AnswerDependencies): Formed {
  const { request, question, found } = state;
  if (found instanceof EarlyAnswer) return { request, answer: found.answer };
  return { request, answer: kindOf(question).form!(state as never, dependencies) };
}
