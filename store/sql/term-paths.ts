// The names under which stores keep terms. A term is a label, or the value of an indexed path; stores find rows by both
// in the same way.
import type { PathStep } from '../../lib/json/raw-json.ts';

/** The name of a label in a store's terms. */
export const labelPath = (key: string): string => `l:${key}`;

/**
 * The name of an indexed path in a store's terms.
 * @param path in the form that `printPath` writes
 */
export const fieldPath = (path: string): string => `f:${path}`;

/** The key of a label when the path is `metadata.labels['key']`; otherwise undefined. */
export function labelKey(path: readonly PathStep[]): string | undefined {
  const [metadata, labels, key] = path.map((step) => (step.kind === 'key' ? step.key : undefined));
  return path.length === 3 && metadata === 'metadata' && labels === 'labels' ? key : undefined;
}

/**
 * Which operator of a label selector means the same as an operator on the field `metadata.labels['key']`. Undefined
 * when none does; then the object's JSON is tested.
 */
export const labelOperators = {
  Equals: 'In',
  In: 'In',
  NotEquals: 'NotIn',
  NotIn: 'NotIn',
  Exists: 'Exists',
  DoesNotExist: 'DoesNotExist',
  // `Gt` and `Lt` compare integers in label selectors, but quantities and times, too, in conditions on fields. So the
  // object's JSON is tested.
  Gt: undefined,
  Lt: undefined,
  Contains: undefined,
} as const;

/** The path of a label in an object: `metadata.labels['key']`. */
export function labelSteps(key: string): readonly PathStep[] {
  return ['metadata', 'labels', key].map((step) => ({ kind: 'key', key: step }));
}
