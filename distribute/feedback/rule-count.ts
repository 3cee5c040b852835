// Bounds how many conditions the `conditionRules` of one ManifestWork give. One rule can be for all manifests, so a
// short work could ask for millions of conditions, and each of them is evaluated, summed up and written.
import type { Finding } from '../../kube/objects/conditions.ts';
import { completeType } from '../work/manifest-config.ts';

/** Most conditions that the rules of one work give. A status with more hardly fits into the hub's database. */
export const mostRuleConditions = 5_000;

/** Types that decide what becomes of the work, so that an object whose rules are refused must have them, too. */
const decisive: ReadonlySet<string> = new Set([completeType, 'Progressing', 'Degraded', 'Available', 'Applied']);

/** Counts the condition rules of a work's objects during one reconcile. */
export class RuleCount {
  #left = mostRuleConditions;

  /**
   * Counts the rules of one more object. @param types the types of their conditions
   * @returns the conditions that the object gets instead when the work has too many; undefined when it has not
   */
  refusal(types: readonly string[]): readonly Finding[] | undefined {
    this.#left -= types.length;
    if (types.length === 0 || this.#left >= 0) return undefined;
    const told = new Set(types.filter((type, index) => index === 0 || decisive.has(type)));
    return [...told].map((type) => ({
      type,
      status: 'False',
      reason: 'ConditionRuleExpressionError',
      message:
        `the ${types.length} condition rules of this manifest are not evaluated: the rules of all manifests of this ` +
        `work give more than ${mostRuleConditions} conditions together`,
    }));
  }
}
