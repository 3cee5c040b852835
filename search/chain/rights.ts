// Step 3 of chain.ts: finds out what the caller may see of the requested types, by the RBAC of each cluster.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { kindOf } from './kinds.ts';
import type { Asked, Seen } from '../api/state.ts';

export async function rights(state: Asked, dependencies: AnswerDependencies): Promise<Seen> {
  return { ...state, sight: await kindOf(state.question).rights?.(state as never, dependencies) };
}
