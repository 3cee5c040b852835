// Which keys of an object the pass over its bytes stops at, compiled once for a type. Easy to get wrong: keys are
// compared as bytes, but JSON may spell any of them with escapes. Such a key is decoded first, or `"d\u0061ta"` of a
// Secret would be kept.
import { byte, textOf } from '../../../lib/json/json-scan.ts';

/** What happens to the value of a tracked key. */
export type Role =
  /** Only on the way to others, or a term. */
  | 'pass'
  /** Goes away, key and all. */
  | 'cut'
  /** A Secret's `data`: goes away, and its keys are counted. */
  | 'data'
  /** A string whose place is remembered. */
  | 'slot'
  | 'metadata'
  | 'labels'
  | 'owners'
  | 'annotations';

/** Strings of the object that are read for the row. */
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

/** A key with what to do there. */
export interface TrackedKey {
  readonly text: string;
  readonly bytes: Buffer;
  readonly role: Role;
  /** Of role `slot`. */
  readonly slot: Slot | undefined;
  /** Place among the keys of its object. */
  readonly index: number;
  readonly shape: Shape;
}

/** What is looked for in a value. */
export interface Shape {
  /** By the length of the key in bytes. */
  readonly keys: readonly (readonly TrackedKey[] | undefined)[];
  readonly size: number;
  /** What is looked for in the elements, where it is a list. */
  readonly each: Shape | undefined;
  /** The path under which a scalar here is a term. */
  readonly term: string | undefined;
}

interface Draft {
  readonly keys: Map<string, { role: Role; slot: Slot | undefined; readonly draft: Draft }>;
  each: Draft | undefined;
  term: string | undefined;
}

/** Annotations that are never kept as the member has them. */
export const ownAnnotations = {
  redacted: 'search.portcullis.io/redacted',
  dataCount: 'search.portcullis.io/data-count',
  resourceVersion: 'search.portcullis.io/resource-version',
} as const;

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The shape of a type's objects.
 * @param paths terms: keys divided by dots, `[]` after a key for each element
 * @param replaced annotations that are written anew
 */
export function makeShape(paths: readonly string[], replaced: readonly string[], redacts: boolean): Shape {
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

/** The tracked key that a key token (quotes included) spells. */
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
