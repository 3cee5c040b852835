// Step 4 of chain.ts: decides what the index store is asked: types and versions, conditions, and the rows that the
// caller may see.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { kindOf } from './kinds.ts';
import type { Planned, Seen } from '../api/state.ts';

export async function plan(state: Seen, dependencies: AnswerDependencies): Promise<Planned> {
  return { ...state, plan: await kindOf(state.question).plan?.(state as never, dependencies) };
}
