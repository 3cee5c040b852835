// Prepares, once for each type, the keys that document-pass.ts must notice. Easy to get wrong: keys are compared as
// bytes, but JSON can write any key with escapes. A key with an escape is decoded first; otherwise `"d\u0061ta"` in a
// Secret would not be recognised, and its data would be stored.
import { byte, textOf } from '../../lib/json/json-scan.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
import { parsePath } from '../../query/path.ts';

/** What to do with the value of a tracked key. */
export type Role =
  /** Keep the value. Keys inside the value are tracked, or the value itself is recorded for searching. */
  | 'pass'
  /** Remove the key and its value. */
  | 'cut'
  /** Remove the key and its value because options prune the field, and record that the stored copy is not complete. */
  | 'prune'
  /** Remove the `data` of a Secret, but count its keys. */
  | 'data'
  /** Keep the string, and remember its position, since it is copied into a column of the row. */
  | 'slot'
  | 'metadata'
  | 'labels'
  | 'owners'
  | 'annotations'
  /** Remove all annotations but those that the index adds. */
  | 'prunedAnnotations';

/** The string fields that are copied into columns of the row. */
export const slots = [
  'apiVersion',
  'kind',
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
] as const;
export type Slot = (typeof slots)[number];

/** A key that needs special treatment when the bytes of its object are read. */
export interface TrackedKey {
  readonly text: string;
  readonly bytes: Buffer;
  readonly role: Role;
  /** For the role `slot`: the field of the row that the string is copied to. */
  readonly slot: Slot | undefined;
  /** The key's number among the tracked keys of its object. */
  readonly index: number;
  readonly shape: Shape;
}

/** The tracked keys of an object, and of everything inside it. */
export interface Shape {
  /** The tracked keys by their length: element `n` has those of `n` bytes. */
  readonly keys: readonly (readonly TrackedKey[] | undefined)[];
  readonly size: number;
  /** What to track in the elements when the value is a list; undefined when nothing. */
  readonly each: Shape | undefined;
  /** When a scalar at this position must be searchable, the path under which it is recorded; otherwise undefined. */
  readonly term: string | undefined;
}

interface Draft {
  readonly keys: Map<string, { role: Role; slot: Slot | undefined; readonly draft: Draft }>;
  each: Draft | undefined;
  term: string | undefined;
}

/**
 * Annotations that the index itself sets on stored Secrets, and on objects that lost a field. A member's annotations
 * with these names are removed.
 */
export const ownAnnotations = {
  redacted: 'search.portcullis.io/redacted',
  pruned: 'search.portcullis.io/pruned',
  dataCount: 'search.portcullis.io/data-count',
  resourceVersion: 'search.portcullis.io/resource-version',
} as const;

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Prepares which keys of the objects of one type are tracked.
 * @param paths the paths that can be searched: keys separated by dots, with `[]` after a key for each element of a list
 * @param replaced annotations to remove, because the index writes its own values
 * @param redacts whether `data` and `stringData` are removed, as for Secrets
 * @param pruned paths of further fields to remove; a field that is copied into a column of the row must not be among
 * them
 */
export function makeShape(
  paths: readonly string[],
  replaced: readonly string[],
  redacts: boolean,
  pruned: readonly string[] = [],
): Shape {
  const root = emptyDraft();
  const put = (draft: Draft, key: string, role: Role, slot?: Slot): Draft => {
    const entry = { role, slot, draft: draft.keys.get(key)?.draft ?? emptyDraft() };
    draft.keys.set(key, entry);
    return entry.draft;
  };
  for (const path of paths) addPath(root, path);
  put(root, 'apiVersion', 'slot', 'apiVersion');
  put(root, 'kind', 'slot', 'kind');
  const metadata = put(root, 'metadata', 'metadata');
  for (const slot of slots.slice(2)) put(metadata, slot, 'slot', slot);
  put(metadata, 'managedFields', 'cut');
  put(metadata, 'labels', 'labels');
  put(metadata, 'ownerReferences', 'owners');
  const annotations = put(metadata, 'annotations', 'annotations');
  for (const name of [lastApplied, ...replaced]) put(annotations, name, 'cut');
  if (redacts) {
    put(root, 'data', 'data');
    put(root, 'stringData', 'cut');
  }
  for (const path of pruned) prunePath(root, parsePath(path));
  return compile(root);
}

function emptyDraft(): Draft {
  return { keys: new Map(), each: undefined, term: undefined };
}

function addPath(root: Draft, path: string): void {
  let draft = root;
  for (const part of path.split('.')) {
    const isList = part.endsWith('[]');
    const key = isList ? part.slice(0, -2) : part;
    let entry = draft.keys.get(key);
    if (entry === undefined) draft.keys.set(key, (entry = { role: 'pass', slot: undefined, draft: emptyDraft() }));
    draft = entry.draft;
    if (isList) draft = draft.each ??= emptyDraft();
  }
  draft.term = path;
}

/** Marks a field to be removed, unless the field or one of its parents is removed already. */
function prunePath(root: Draft, path: readonly PathStep[]): void {
  let draft = root;
  for (const [index, step] of path.entries()) {
    if (step.kind !== 'key') {
      draft = draft.each ??= emptyDraft();
      continue;
    }
    let entry = draft.keys.get(step.key);
    if (entry !== undefined && isRemoved(entry.role)) return;
    if (entry === undefined) draft.keys.set(step.key, (entry = { role: 'pass', slot: undefined, draft: emptyDraft() }));
    if (index === path.length - 1) entry.role = entry.role === 'annotations' ? 'prunedAnnotations' : 'prune';
    draft = entry.draft;
  }
}

/** Whether a key of this role is removed with its value. */
export function isRemoved(role: Role): boolean {
  return role === 'cut' || role === 'data' || role === 'prune';
}

function compile(draft: Draft): Shape {
  const keys: TrackedKey[][] = [];
  let index = 0;
  for (const [text, { role, slot, draft: inner }] of draft.keys) {
    const bytes = Buffer.from(text, 'utf8');
    (keys[bytes.length] ??= []).push({ text, bytes, role, slot, index, shape: compile(inner) });
    index += 1;
  }
  return {
    keys,
    size: index,
    each: draft.each === undefined ? undefined : compile(draft.each),
    term: draft.term,
  };
}

/** The tracked key at bytes `start` to `end`, quotes included; undefined when the key is not tracked. */
export function trackedKey(shape: Shape, bytes: Buffer, start: number, end: number): TrackedKey | undefined {
  if (shape.size === 0) return undefined;
  for (let i = start + 1; i < end - 1; i += 1) {
    if (bytes[i] !== byte.backslash) continue;
    const text = textOf(bytes, start, end);
    return shape.keys.flat().find((key) => key?.text === text);
  }
  const candidates = shape.keys[end - start - 2];
  if (candidates === undefined) return undefined;
  for (const candidate of candidates) if (isAt(candidate.bytes, bytes, start + 1)) return candidate;
  return undefined;
}

function isAt(key: Buffer, bytes: Buffer, at: number): boolean {
  for (let i = 0; i < key.length; i += 1) if (key[i] !== bytes[at + i]) return false;
  return true;
}
