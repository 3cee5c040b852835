// Conditions of an object's status, as metav1.Condition has them. A condition that says the same as before keeps its
// time, so that an object at rest is not written again.
import type { HubObject } from '../cache/hub/hub-types.ts';
import { fieldOf } from '../cache/sources/objects/hub-object.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** One condition without its time. */
export interface Finding {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** A metav1.Condition. */
export interface Condition extends Finding {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** Longest message in characters; a hub takes 32768, a person reads less. */
const maxMessageLength = 2048;

/** The conditions in an object's status; what is malformed is left out. */
export function conditionsOf(object: HubObject): readonly Condition[] {
  const list = fieldOf(object, 'status', 'conditions');
  if (!Array.isArray(list)) return [];
  return (list as readonly Condition[]).filter((each) => typeof fieldOf(each, 'type') === 'string');
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((each) => each.type === type);
}

/**
 * The conditions with `found` put in, each in the place where it was.
 * @param generation of the object that was looked at
 */
export function withConditions(
  before: readonly Condition[],
  found: readonly Finding[],
  generation: number | undefined,
): readonly Condition[] {
  const after = [...before];
  for (const finding of found) {
    const index = after.findIndex(({ type }) => type === finding.type);
    const old = index < 0 ? undefined : after[index];
    const condition: Condition = {
      ...finding,
      message: cut(finding.message),
      lastTransitionTime: old?.status === finding.status ? old.lastTransitionTime : now(),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    if (old === undefined) after.push(condition);
    else after[index] = condition;
  }
  return after;
}

/** `metadata.generation`. */
export function generationOf(object: HubObject): number | undefined {
  const generation = fieldOf(object, 'metadata', 'generation');
  return typeof generation === 'number' ? generation : undefined;
}

function cut(message: string): string {
  return message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 1)}…` : message;
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
