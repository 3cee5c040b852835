// The names of terms. A term is a label, or the value of an indexed path; stores find rows by both in the same way.
import type { PathStep } from '../../lib/json/raw-json.ts';

/** The term path of a label. */
export const labelPath = (key: string): string => `l:${key}`;

/** The term path of an indexed path, in the form that `printPath` writes. */
export const fieldPath = (path: string): string => `f:${path}`;

/** The key of a label when the path is `metadata.labels['key']`; otherwise undefined. */
export function labelKey(path: readonly PathStep[]): string | undefined {
  const [metadata, labels, key] = path.map((step) => (step.kind === 'key' ? step.key : undefined));
  return path.length === 3 && metadata === 'metadata' && labels === 'labels' ? key : undefined;
}

/** The operator of a label selector for a condition on a label; undefined where the object's JSON must decide. */
export const labelOperators = {
  Equals: 'In',
  In: 'In',
  NotEquals: 'NotIn',
  NotIn: 'NotIn',
  Exists: 'Exists',
  DoesNotExist: 'DoesNotExist',
  // Label selectors compare values in another way for these operators, so the body decides.
  Gt: undefined,
  Lt: undefined,
  Contains: undefined,
} as const;

/** The path of a label in the object. */
export function labelSteps(key: string): readonly PathStep[] {
  return ['metadata', 'labels', key].map((step) => ({ kind: 'key', key: step }));
}
