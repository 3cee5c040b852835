// Reads and writes conditions of an object's status (metav1.Condition). `lastTransitionTime` of a condition stays the
// same while its status stays the same, so that an unchanged object is not written again.
import type { ApiObject } from '../types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { shortened } from '../../lib/text/shortened.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** What a controller found out about an object: a condition without `lastTransitionTime`, which withConditions adds. */
export interface Finding {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** A metav1.Condition as it is written into a status. */
export interface Condition extends Finding {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** Longest message in characters; a longer one is cut. API servers accept 32768, but nobody reads that much. */
const maxMessageLength = 2048;

/** Returns the conditions in an object's status without malformed ones. */
export function conditionsOf(object: ApiObject): readonly Condition[] {
  return readConditions(fieldOf(object, 'status', 'conditions'));
}

/** Returns the conditions in a list without malformed ones; none when it is no list. */
export function readConditions(list: unknown): readonly Condition[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly Condition[]).filter((each) => typeof fieldOf(each, 'type') === 'string');
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((each) => each.type === type);
}

/**
 * Returns `before` with the conditions of `found` put in. A condition of the same type is replaced at its position; a
 * new one is appended.
 * @param generation `metadata.generation` of the object that the findings are about, written as `observedGeneration`
 */
export function withConditions(
  before: readonly Condition[],
  found: readonly Finding[],
  generation: number | undefined,
): readonly Condition[] {
  const after = [...before];
  // Rules of a ManifestWork can give thousands of conditions. Of several with the same type the first counts.
  const places = new Map<string, number>();
  for (const [index, { type }] of before.entries()) if (!places.has(type)) places.set(type, index);
  for (const finding of found) {
    const place = places.get(finding.type);
    const old = place === undefined ? undefined : after[place];
    const condition: Condition = {
      ...finding,
      message: shortened(finding.message, maxMessageLength),
      lastTransitionTime: old?.status === finding.status ? old.lastTransitionTime : now(),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    if (place === undefined) places.set(finding.type, after.push(condition) - 1);
    else after[place] = condition;
  }
  return after;
}

/** Returns `metadata.generation` of an object; undefined if it has none. */
export function generationOf(object: ApiObject): number | undefined {
  const generation = fieldOf(object, 'metadata', 'generation');
  return typeof generation === 'number' ? generation : undefined;
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
