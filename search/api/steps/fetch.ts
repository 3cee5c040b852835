// Step 5: sends the planned query to the index store.
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { EarlyAnswer } from '../answer.ts';
import { kindOf } from '../kinds.ts';
import type { Fetched, Planned } from '../state.ts';

export async function fetch(state: Planned, dependencies: AnswerDependencies): Promise<Fetched> {
  const { plan, question } = state;
  const found = plan instanceof EarlyAnswer ? plan : await kindOf(question).fetch?.(state as never, dependencies);
  return { ...state, found };
}
