// Step 4: what the store is asked: which types in which version, under which conditions, of which rows.
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { kindOf } from '../kinds.ts';
import type { Planned, Seen } from '../state.ts';

export async function plan(state: Seen, dependencies: AnswerDependencies): Promise<Planned> {
  return { ...state, plan: await kindOf(state.question).plan?.(state as never, dependencies) };
}
