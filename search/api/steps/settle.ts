// Step 2: soon after a start, the answer waits a moment for what is being read for the first time.
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { kindOf } from '../kinds.ts';
import type { Asked } from '../state.ts';

export async function settle(state: Asked, { settled }: AnswerDependencies): Promise<Asked> {
  if (kindOf(state.question).waits === true) await settled();
  return state;
}
