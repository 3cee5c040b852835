// Step 2 of chain.ts: shortly after a start, waits until the first lists of the index are complete.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { kindOf } from './kinds.ts';
import type { Asked } from '../api/state.ts';

export async function settle(state: Asked, { settled }: AnswerDependencies): Promise<Asked> {
  if (kindOf(state.question).waits === true) await settled();
  return state;
}
