// What terms of a row are called. A term is a label, or the value of an indexed path; stores find rows by both alike.
import type { PathStep } from '../../lib/json/raw-json.ts';

/** Of a label's key. */
export const labelPath = (key: string): string => `l:${key}`;

/** Of an indexed path, as `printPath` writes it. */
export const fieldPath = (path: string): string => `f:${path}`;

/** The label a path is, if it is `metadata.labels['key']`. */
export function labelKey(path: readonly PathStep[]): string | undefined {
  const [metadata, labels, key] = path.map((step) => (step.kind === 'key' ? step.key : undefined));
  return path.length === 3 && metadata === 'metadata' && labels === 'labels' ? key : undefined;
}
