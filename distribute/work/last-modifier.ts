// Reads who last changed a ManifestWork, which an admission policy of the hub records in an annotation.
import { isJsonObject, textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import { ownPrefix } from './manifest-work.ts';

/** A user of the hub. */
export interface Modifier {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * Annotation with JSON `{"user": …, "groups": […]}`. The hub's admission policy refuses every value that does not name
 * the user who sends the request.
 */
export const modifierAnnotation = `${ownPrefix}last-modifier`;

/** Returns the recorded user; undefined when none is recorded; a message when the annotation cannot be read. */
export function lastModifierOf(work: ApiObject): Modifier | { readonly fault: string } | undefined {
  const text = textAt(work, 'metadata', 'annotations', modifierAnnotation);
  if (text === '') return undefined;
  const fault = `the annotation ${modifierAnnotation} is not what the hub's policy writes`;
  let stamp: unknown;
  try {
    stamp = JSON.parse(text);
  } catch {
    return { fault };
  }
  if (!isJsonObject(stamp)) return { fault };
  const { user, groups } = stamp;
  if (typeof user !== 'string' || user === '' || !Array.isArray(groups)) return { fault };
  return groups.every((each) => typeof each === 'string') ? { name: user, groups } : { fault };
}
