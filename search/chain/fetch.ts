// Step 5 of chain.ts: sends the planned query to the index store.
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { EarlyAnswer } from '../api/answer.ts';
import { readWithinRights } from '../api/current-rights.ts';
import type { ScopedPlan } from '../api/current-rights.ts';
import { kindOf } from './kinds.ts';
import type { Fetched, Planned } from '../api/state.ts';
import { plan } from './plan.ts';
import { rights } from './rights.ts';

export async function fetch(planned: Planned, dependencies: AnswerDependencies): Promise<Fetched> {
  const { plan: state, found } = await readWithinRights(planned, dependencies, {
    scopedBy: ({ plan: made }) => (isScoped(made) ? made : undefined),
    read: (each, noting) =>
      each.plan instanceof EarlyAnswer ? each.plan : kindOf(each.question).fetch?.(each as never, noting),
    replan: async () => await plan(await rights(planned, dependencies), dependencies),
  });
  return { ...state, found };
}

/** Whether a plan reads rows. Only such plans have a scope, which must be checked for changed rights. */
function isScoped(made: unknown): made is ScopedPlan {
  return typeof made === 'object' && made !== null && 'rightsUpTo' in made;
}
