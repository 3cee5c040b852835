// Reads and changes parts of stored objects directly in their JSON bytes; all other bytes stay as the member sent them.
// Parsing and printing would change numbers beyond 2^53, `1.0`, escape sequences and the order of integer keys.
import { ElementCursor, MemberCursor } from './json-cursor.ts';
import { byte, skipSpace, skipValue, textOf } from './json-scan.ts';

/**
 * One step of a path into an object: to the value of a key, to one element of a list, or to every element of a list.
 */
export type PathStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' };

/** Returns the bytes as a Buffer on the same memory; nothing is copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A cursor at the member with this key; undefined when the object has none. */
function memberOf(bytes: Buffer, at: number, key: string): MemberCursor | undefined {
  for (const member = new MemberCursor(bytes, at); member.next();) if (member.key === key) return member;
  return undefined;
}

/** The bytes with another text as the value of the member; unchanged without a member. */
function withText(bytes: Buffer, member: MemberCursor | undefined, text: string): Buffer {
  if (member === undefined) return bytes;
  const value = Buffer.from(JSON.stringify(text));
  return Buffer.concat([bytes.subarray(0, member.start), value, bytes.subarray(member.end)]);
}

/**
 * The object with another value of `apiVersion`. The result is correct only if both versions have the same schema, as
 * with the conversion strategy None of a CustomResourceDefinition.
 */
export function withApiVersion(raw: Uint8Array, apiVersion: string): Buffer {
  const bytes = asBuffer(raw);
  return withText(bytes, memberOf(bytes, skipSpace(bytes, 0), 'apiVersion'), apiVersion);
}

/** The string at a path of keys in an object; undefined when there is none, or the value is not a string. */
export function textAt(raw: Uint8Array, keys: readonly string[]): string | undefined {
  const bytes = asBuffer(raw);
  let at = skipSpace(bytes, 0);
  for (const [depth, key] of keys.entries()) {
    const member = bytes[at] === byte.openObject ? memberOf(bytes, at, key) : undefined;
    if (member === undefined) return undefined;
    if (depth === keys.length - 1)
      return bytes[member.start] === byte.quote ? textOf(bytes, member.start, member.end) : undefined;
    at = member.start;
  }
  return undefined;
}

/**
 * The object with one annotation set; an annotation of the same name is replaced. An object without
 * `metadata.annotations` is returned unchanged; stored objects always have annotations.
 */
export function withAnnotation(raw: Uint8Array, name: string, value: string): Buffer {
  const bytes = asBuffer(raw);
  const metadata = memberOf(bytes, skipSpace(bytes, 0), 'metadata');
  const annotations = metadata === undefined ? undefined : memberOf(bytes, metadata.start, 'annotations');
  if (annotations === undefined || bytes[annotations.start] !== byte.openObject) return bytes;
  const kept: Buffer[] = [];
  for (const member = new MemberCursor(bytes, annotations.start); member.next();) {
    if (member.key !== name) kept.push(bytes.subarray(member.keyStart, member.end), separator);
  }
  return Buffer.concat([
    bytes.subarray(0, annotations.start + 1),
    ...kept,
    Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`),
    bytes.subarray(annotations.end - 1),
  ]);
}

/** The object without these annotations. */
export function withoutAnnotations(raw: Uint8Array, names: readonly string[]): Buffer {
  const bytes = asBuffer(raw);
  const metadata = memberOf(bytes, skipSpace(bytes, 0), 'metadata');
  if (metadata === undefined || bytes[metadata.start] !== byte.openObject) return bytes;
  const annotations = memberOf(bytes, metadata.start, 'annotations');
  if (annotations === undefined || bytes[annotations.start] !== byte.openObject) return bytes;
  const kept: Buffer[] = [];
  for (const member = new MemberCursor(bytes, annotations.start); member.next();) {
    if (names.includes(member.key)) continue;
    kept.push(kept.length === 0 ? opening : separator, bytes.subarray(member.keyStart, member.end));
  }
  if (kept.length === 0) kept.push(opening);
  return Buffer.concat([bytes.subarray(0, annotations.start), ...kept, closing, bytes.subarray(annotations.end)]);
}

/** The object with another `metadata.resourceVersion`; unchanged when it has none. */
export function withResourceVersion(raw: Uint8Array, version: string): Buffer {
  const bytes = asBuffer(raw);
  const metadata = memberOf(bytes, skipSpace(bytes, 0), 'metadata');
  return withText(bytes, metadata && memberOf(bytes, metadata.start, 'resourceVersion'), version);
}

const partialHead = Buffer.from('{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":');
const opening = Buffer.from('{');
const closing = Buffer.from('}');

/** A metav1.PartialObjectMetadata with the unchanged metadata of the object. */
export function partialObject(raw: Uint8Array): Buffer {
  const bytes = asBuffer(raw);
  const member = memberOf(bytes, skipSpace(bytes, 0), 'metadata');
  const metadata = member === undefined ? Buffer.from('{}') : bytes.subarray(member.start, member.end);
  return Buffer.concat([partialHead, metadata, closing]);
}

/** The object reduced to kind, apiVersion and metadata, whose bytes are unchanged. */
export function metadataAlone(raw: Uint8Array): Buffer {
  const bytes = asBuffer(raw);
  const pieces: Buffer[] = [];
  for (const member = new MemberCursor(bytes, skipSpace(bytes, 0)); member.next();) {
    const { key, keyStart, end } = member;
    if (key !== 'apiVersion' && key !== 'kind' && key !== 'metadata') continue;
    pieces.push(pieces.length === 0 ? opening : separator, bytes.subarray(keyStart, end));
    if (pieces.length === 6) break;
  }
  return Buffer.concat([...pieces, closing]);
}

/** Which parts of an object are selected: all of it, or some members by key and some list elements by index. */
export interface Wanted {
  whole: boolean;
  readonly keys: Map<string, Wanted>;
  readonly elements: Map<number | 'each', Wanted>;
}

/** Paths that are always selected, because they identify the object. */
const always: readonly (readonly PathStep[])[] = [
  ['apiVersion'],
  ['kind'],
  ['metadata', 'namespace'],
  ['metadata', 'name'],
  ['metadata', 'uid'],
  ['metadata', 'resourceVersion'],
  ['metadata', 'annotations', 'shadow.clusterpedia.io/cluster-name'],
].map((keys) => keys.map((key) => ({ kind: 'key', key })));

/** Merges the paths of a `fields=` parameter into one tree, which also selects the fields that identify an object. */
export function wantedParts(paths: readonly (readonly PathStep[])[]): Wanted {
  const root = nothing();
  for (const path of [...always, ...paths]) {
    let at = root;
    for (const step of path) {
      const next = (step.kind === 'key' ? at.keys.get(step.key) : at.elements.get(indexOf(step))) ?? nothing();
      if (step.kind === 'key') at.keys.set(step.key, next);
      else at.elements.set(indexOf(step), next);
      at = next;
    }
    at.whole = true;
  }
  return root;
}

function nothing(): Wanted {
  return { whole: false, keys: new Map(), elements: new Map() };
}

function indexOf(step: Exclude<PathStep, { kind: 'key' }>): number | 'each' {
  return step.kind === 'each' ? 'each' : step.index;
}

/**
 * The selected parts of an object, with order and bytes unchanged. The recursion is only as deep as the selected paths,
 * so a deeply nested object cannot overflow the stack.
 */
export function project(raw: Uint8Array, wanted: Wanted): Buffer {
  const bytes = asBuffer(raw);
  const pieces: Buffer[] = [];
  projectValue(bytes, skipSpace(bytes, 0), wanted, pieces);
  return Buffer.concat(pieces);
}

function projectValue(bytes: Buffer, at: number, wanted: Wanted, pieces: Buffer[]): void {
  if (wanted.whole) {
    pieces.push(bytes.subarray(at, skipValue(bytes, at)));
  } else if (bytes[at] === byte.openObject) projectObject(bytes, at, wanted, pieces);
  else if (bytes[at] === byte.openList) projectList(bytes, at, wanted, pieces);
  else pieces.push(nullBytes);
}

const nullBytes = Buffer.from('null');

function projectObject(bytes: Buffer, at: number, wanted: Wanted, pieces: Buffer[]): void {
  let separator = '{';
  for (const member = new MemberCursor(bytes, at); member.next();) {
    const inner = wanted.keys.get(member.key);
    if (inner === undefined) continue;
    pieces.push(Buffer.from(separator), bytes.subarray(member.keyStart, member.start));
    projectValue(bytes, member.start, inner, pieces);
    separator = ',';
  }
  pieces.push(Buffer.from(separator === '{' ? '{}' : '}'));
}

function projectList(bytes: Buffer, at: number, wanted: Wanted, pieces: Buffer[]): void {
  let separator = '[';
  const element = new ElementCursor(bytes, at);
  for (let index = 0; element.next(); index += 1) {
    const inner = wanted.elements.get(index) ?? wanted.elements.get('each');
    if (inner !== undefined) {
      pieces.push(Buffer.from(separator));
      projectValue(bytes, element.start, inner, pieces);
      separator = ',';
    }
  }
  pieces.push(Buffer.from(separator === '[' ? '[]' : ']'));
}

const separator = Buffer.from(',');

/**
 * Items of a list as buffers, with commas between them.
 * @param isFirst false when other items of the list were sent before; then a comma is put in front of the first item
 *   too
 * @returns buffers to send one after the other. Items that are adjacent in memory with a comma between them, as a store
 *   returns them, become one buffer without copying.
 */
export function piecesOf(items: readonly Uint8Array[], isFirst: boolean): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let memory: Uint8Array = noBytes;
  let start = 0;
  let end = 0;
  const endRun = (): void => {
    if (end > start) pieces.push(memory.subarray(start, end));
  };
  for (const [i, item] of items.entries()) {
    const at = item.byteOffset;
    const isSameMemory = item.buffer === memory.buffer;
    if (isSameMemory && i > 0 && at === end + 1 && memory[end] === byte.comma) {
      end = at + item.byteLength;
      continue;
    }
    endRun();
    if (!isSameMemory) memory = new Uint8Array(item.buffer);
    const needsComma = i > 0 || !isFirst;
    const hasComma = needsComma && at > 0 && memory[at - 1] === byte.comma;
    if (needsComma && !hasComma) pieces.push(separator);
    start = hasComma ? at - 1 : at;
    end = at + item.byteLength;
  }
  endRun();
  return pieces;
}

const noBytes: Uint8Array = new Uint8Array();
