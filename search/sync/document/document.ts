// From an object as a member sent it to a row: one pass over its tokens cuts, adds and reads. Easy to get wrong: the
// bytes that stay must stay as they are (order of keys, big numbers, `1.0`, escapes), so nothing is ever parsed and
// written again.
import { isUtf8 } from 'node:buffer';
import { MalformedAnswer } from '../../../lib/json/malformed-json.ts';
import type { RowWrite } from '../../stores/store.ts';
import { clusterAnnotation, type TypeInfo } from '../../types.ts';
import { makeShape, ownAnnotations, trackedKey, type Shape, type Slot, type TrackedKey } from './document-shape.ts';
import { MemberCursor } from '../../../lib/json/json-cursor.ts';
import {
  byte,
  malformed,
  nextMember,
  skipColon,
  skipKey,
  skipScalar,
  skipSpace,
  skipString,
  skipValue,
  textOf,
} from '../../../lib/json/json-scan.ts';

/** How objects of one type of one cluster become rows. */
export interface DocumentOptions {
  readonly cluster: string;
  readonly type: Pick<TypeInfo, 'group' | 'version' | 'kind' | 'namespaced'>;
  /** Paths of terms: keys divided by dots, `[]` after a key for each element of its list. */
  readonly paths: readonly string[];
  /** Leaves out `data` and `stringData` (Secrets), so that the copy gives nothing away and cannot be written back. */
  readonly redacts: boolean;
}

/** Makes rows of one type. */
export interface DocumentReader {
  /** @throws MalformedAnswer for what is no object of Kubernetes; the message quotes nothing of it */
  read(raw: Buffer): RowWrite;
}

/** A part of the bytes that is written otherwise. In order, never overlapping. */
interface Edit {
  readonly start: number;
  readonly end: number;
  text: string;
}

/** A tracked key came a second time; `start` to `end` is the first, which readers of JSON ignore. */
class Repeated extends Error {
  readonly start: number;
  readonly end: number;
  constructor(start: number, end: number) {
    super('repeated');
    this.start = start;
    this.end = end;
  }
}

/** So many repeats are cut out of an object; no API server sends even one. */
const maxRepeats = 16;

/** Makes the reader of one type in one cluster. */
export function makeDocumentReader({ cluster, type, paths, redacts }: DocumentOptions): DocumentReader {
  const replaced = [clusterAnnotation, ...(redacts ? Object.values(ownAnnotations) : [])];
  const shape = makeShape(paths, replaced, redacts);
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
  const header = { apiVersion: member('apiVersion', apiVersion), kind: member('kind', type.kind) };
  const named = member(clusterAnnotation, cluster);
  return {
    read(raw) {
      if (!isUtf8(raw)) throw malformed();
      let bytes = raw;
      for (let repeats = 0; ; repeats += 1) {
        try {
          return readOnce(bytes);
        } catch (error) {
          if (!(error instanceof Repeated) || repeats === maxRepeats) {
            throw error instanceof Repeated ? new MalformedAnswer('an object with repeated keys') : error;
          }
          bytes = Buffer.concat([bytes.subarray(0, error.start), bytes.subarray(error.end)]);
        }
      }
    },
  };

  function readOnce(bytes: Buffer): RowWrite {
    const pass = makePass(bytes, shape, redacts);
    const { text, found } = pass;
    const annotations = [named];
    const resourceVersion = text('resourceVersion') ?? '';
    if (redacts) {
      annotations.push(
        member(ownAnnotations.redacted, 'data'),
        member(ownAnnotations.dataCount, String(found.dataCount)),
      );
      annotations.push(member(ownAnnotations.resourceVersion, resourceVersion));
    }
    const missing = [
      ...(text('kind') === undefined ? [header.kind] : []),
      ...(text('apiVersion') === undefined ? [header.apiVersion] : []),
    ];
    const namespace = text('namespace') ?? '';
    const name = text('name') ?? '';
    if (name === '') throw new MalformedAnswer('an object without name');
    if ((namespace !== '') !== type.namespaced) throw new MalformedAnswer('an object outside of the scope of its type');
    return {
      namespace,
      name,
      uid: text('uid') ?? '',
      resourceVersion,
      ownerUid: ownerOf(found.owners),
      createdAtMs: Date.parse(text('creationTimestamp') ?? '') || 0,
      labels: labelsOf(found.labels),
      terms: pass.terms,
      raw: pass.write(missing.join(), annotations.join(), '"1"'),
    };
  }
}

/** What one pass over an object found, and how to write it. */
interface Pass {
  text(slot: Slot): string | undefined;
  readonly found: Readonly<Found>;
  readonly terms: readonly (readonly [path: string, value: string])[];
  /**
   * The bytes with these members added to the object and to its annotations, in a buffer of its own, so that it can be
   * given to a thread. `resourceVersion` takes the place of the member's where the shape is one of a redacted type.
   */
  write(missing: string, annotations: string, resourceVersion: string): Buffer;
}

/** What is known once the last byte was seen. `labels` and `owners` are JSON, '' for none. */
interface Found {
  labels: string;
  owners: string;
  dataCount: number;
  metadata?: Gap;
  annotations?: Gap;
  hasNullAnnotations?: boolean;
  version?: Edit;
}

/** The place after an object's opening brace, and whether anything follows there. */
interface Gap {
  readonly edit: Edit;
  isFilled: boolean;
}

function fill({ edit, isFilled }: Gap, members: string): void {
  if (members !== '') edit.text = isFilled ? `${members},` : members;
}

function makePass(bytes: Buffer, root: Shape, replacesVersion: boolean): Pass {
  const edits: Edit[] = [];
  const places = new Map<Slot, readonly [start: number, end: number]>();
  const terms: (readonly [string, string])[] = [];
  const found: Found = { labels: '', owners: '', dataCount: 0 };
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== byte.openObject) throw malformed();
  const rootGap: Gap = { edit: edit(start + 1, start + 1), isFilled: false };
  const end = readObject(start, root, rootGap);
  if (skipSpace(bytes, end) !== bytes.length) throw malformed();
  const { metadata, annotations } = found;
  if (metadata === undefined) throw new MalformedAnswer('an object without metadata');

  return {
    text(slot) {
      const place = places.get(slot);
      return place === undefined ? undefined : textOf(bytes, place[0], place[1]);
    },
    found,
    terms,
    write(missing, added, resourceVersion) {
      fill(rootGap, missing);
      if (annotations === undefined) fill(metadata, `"annotations":{${added}}`);
      else if (found.hasNullAnnotations === true) annotations.edit.text = `{${added}}`;
      else fill(annotations, added);
      if (found.version !== undefined) found.version.text = resourceVersion;
      return applied(bytes, edits);
    },
  };

  function edit(from: number, until: number): Edit {
    const made = { start: from, end: until, text: '' };
    edits.push(made);
    return made;
  }

  /** From an opening brace to the position after the closing one. `gap` learns whether anything of it stays. */
  function readObject(at: number, shape: Shape, gap?: Gap): number {
    let i = skipSpace(bytes, at + 1);
    if (bytes[i] === byte.closeObject) return i + 1;
    /** Where each tracked key was. */
    const seen: number[] = [];
    /** Where members that go away began, as long as nothing before them stays. */
    let leading = -1;
    let stays = false;
    let previousEnd = i;
    for (;;) {
      const keyEnd = skipString(bytes, i);
      const value = skipColon(bytes, keyEnd);
      const key = trackedKey(shape, bytes, i, keyEnd);
      const goes = key !== undefined && (key.role === 'cut' || key.role === 'data');
      let after: number;
      if (goes) {
        after = skipValue(bytes, value);
        if (key.role === 'data') found.dataCount = countMembers(value);
        if (stays) edit(previousEnd, after);
        else if (leading === -1) leading = i;
      } else {
        if (leading !== -1) edit(leading, i);
        leading = -1;
        stays = true;
        if (key === undefined) after = skipValue(bytes, value);
        else {
          const earlier = seen[key.index];
          if (earlier !== undefined) throw new Repeated(earlier, endOfMember(earlier));
          seen[key.index] = i;
          after = readTracked(value, key);
        }
      }
      const next = nextMember(bytes, after, byte.closeObject);
      if (next === -1) {
        if (leading !== -1) edit(leading, after);
        if (gap !== undefined) gap.isFilled = stays;
        return skipSpace(bytes, after) + 1;
      }
      previousEnd = after;
      i = next;
    }
  }

  /** Where the member after the one at `at` begins: there is one. */
  function endOfMember(at: number): number {
    return nextMember(bytes, skipValue(bytes, skipKey(bytes, at)), byte.closeObject);
  }

  function readTracked(at: number, { role, slot, shape, text }: TrackedKey): number {
    const c = bytes[at];
    if (role === 'pass') return readValue(at, shape);
    const isNull = c === 0x6e;
    if (role === 'slot') {
      if (shape.term !== undefined) addTerm(shape.term, at);
      if (c !== byte.quote && !isNull) throw new MalformedAnswer(`an object whose ${slot} is no text`);
      const after = skipScalar(bytes, at);
      if (isNull) return after;
      places.set(slot!, [at, after]);
      if (slot === 'resourceVersion' && replacesVersion) found.version = edit(at, after);
      return after;
    }
    if (c !== byte.openObject && !isNull && role !== 'owners')
      throw new MalformedAnswer(`an object whose ${text} is no object`);
    if (role === 'labels' || role === 'owners') {
      const after = skipValue(bytes, at);
      if (role === 'labels') found.labels = bytes.toString('utf8', at, after);
      else found.owners = bytes.toString('utf8', at, after);
      return after;
    }
    if (isNull && role === 'metadata') throw new MalformedAnswer('an object without metadata');
    const gap: Gap = { edit: isNull ? edit(at, skipScalar(bytes, at)) : edit(at + 1, at + 1), isFilled: false };
    if (role === 'metadata') found.metadata = gap;
    else found.annotations = gap;
    if (!isNull) return readObject(at, shape, gap);
    found.hasNullAnnotations = true;
    return gap.edit.end;
  }

  function readValue(at: number, shape: Shape): number {
    const c = bytes[at];
    if (c === byte.openObject && shape.size > 0) return readObject(at, shape);
    if (c === byte.openList && shape.each !== undefined) return readList(at, shape.each);
    if (shape.term !== undefined) addTerm(shape.term, at);
    return skipValue(bytes, at);
  }

  function readList(at: number, each: Shape): number {
    let i = skipSpace(bytes, at + 1);
    if (bytes[i] === byte.closeList) return i + 1;
    for (;;) {
      const after = readValue(i, each);
      const next = nextMember(bytes, after, byte.closeList);
      if (next === -1) return skipSpace(bytes, after) + 1;
      i = next;
    }
  }

  /** A scalar as text; null, lists and objects are no term. */
  function addTerm(path: string, at: number): void {
    const c = bytes[at];
    if (c === byte.openObject || c === byte.openList || c === 0x6e) return;
    const after = skipScalar(bytes, at);
    terms.push([path, c === byte.quote ? textOf(bytes, at, after) : bytes.toString('latin1', at, after)]);
  }

  function countMembers(at: number): number {
    if (bytes[at] !== byte.openObject) return 0;
    let count = 0;
    for (const members = new MemberCursor(bytes, at); members.next();) count += 1;
    return count;
  }
}

function member(key: string, value: string): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
}

/** The bytes with the edits made, in a buffer that shares no memory. */
function applied(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const { start, end, text } of edits) size += Buffer.byteLength(text) - (end - start);
  const made = Buffer.allocUnsafeSlow(size);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    to += bytes.copy(made, to, from, start);
    if (text !== '') to += made.write(text, to);
    from = end;
  }
  bytes.copy(made, to, from);
  return made;
}

function labelsOf(text: string): RowWrite['labels'] {
  if (text === '' || text === 'null' || text === '{}') return [];
  const labels = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

/** UID of the controller among ownerReferences, '' for none. */
function ownerOf(text: string): string {
  if (text === '') return '';
  const owners = JSON.parse(text) as unknown;
  if (!Array.isArray(owners)) return '';
  const controller = (owners as readonly unknown[]).find(
    (owner): owner is { readonly uid: string } =>
      typeof owner === 'object' &&
      owner !== null &&
      'controller' in owner &&
      owner.controller === true &&
      'uid' in owner &&
      typeof owner.uid === 'string',
  );
  return controller?.uid ?? '';
}
