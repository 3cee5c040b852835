// One pass over the bytes of an object: finds what a row needs of it, and what is cut and added. Easy to get wrong: the
// bytes that are kept must be kept as they are (order of keys, big numbers, `1.0`, escapes), so nothing is ever parsed
// and written again.
import { MalformedAnswer } from '../../../lib/json/malformed-json.ts';
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
import { MemberCursor } from '../../../lib/json/json-cursor.ts';
import { trackedKey, type Shape, type Slot, type TrackedKey } from './document-shape.ts';

/** A part of the bytes that is written otherwise. In order, never overlapping. */
interface Edit {
  readonly start: number;
  readonly end: number;
  text: string;
}

/** A tracked key came a second time; `start` to `end` is the first, which readers of JSON ignore. */
export class Repeated extends Error {
  readonly start: number;
  readonly end: number;
  constructor(start: number, end: number) {
    super('repeated');
    this.start = start;
    this.end = end;
  }
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

/** The letter that `null` begins with. */
const nullStart = 0x6e;

/** See the file comment. `read` first, then the rest. */
export class DocumentPass {
  readonly #bytes: Buffer;
  readonly #replacesVersion: boolean;
  readonly #edits: Edit[] = [];
  readonly #places = new Map<Slot, readonly [start: number, end: number]>();
  #root: Gap | undefined;
  readonly terms: (readonly [path: string, value: string])[] = [];
  readonly found: Found = { labels: '', owners: '', dataCount: 0 };

  /** @param replacesVersion `write` puts another resourceVersion in the place of the member's */
  constructor(bytes: Buffer, replacesVersion: boolean) {
    this.#bytes = bytes;
    this.#replacesVersion = replacesVersion;
  }

  /** Reads the whole object. @throws MalformedAnswer, Repeated */
  read(shape: Shape): void {
    const bytes = this.#bytes;
    const start = skipSpace(bytes, 0);
    if (bytes[start] !== byte.openObject) throw malformed();
    this.#root = { edit: this.#edit(start + 1, start + 1), isFilled: false };
    const end = this.#readObject(start, shape, this.#root);
    if (skipSpace(bytes, end) !== bytes.length) throw malformed();
    if (this.found.metadata === undefined) throw new MalformedAnswer('an object without metadata');
  }

  text(slot: Slot): string | undefined {
    const place = this.#places.get(slot);
    return place === undefined ? undefined : textOf(this.#bytes, place[0], place[1]);
  }

  /**
   * The bytes with these members added to the object and to its annotations, in a buffer of its own, so that it can be
   * given to a thread. `resourceVersion` takes the place of the member's where that is replaced.
   */
  write(missing: string, added: string, resourceVersion: string): Buffer {
    const { metadata, annotations, hasNullAnnotations, version } = this.found;
    fill(this.#root!, missing);
    if (annotations === undefined) fill(metadata!, `"annotations":{${added}}`);
    else if (hasNullAnnotations === true) annotations.edit.text = `{${added}}`;
    else fill(annotations, added);
    if (version !== undefined) version.text = resourceVersion;
    return applied(this.#bytes, this.#edits);
  }

  #edit(start: number, end: number): Edit {
    const made = { start, end, text: '' };
    this.#edits.push(made);
    return made;
  }

  /** From an opening brace to the position after the closing one. `gap` learns whether any member is kept. */
  #readObject(at: number, shape: Shape, gap?: Gap): number {
    const bytes = this.#bytes;
    let i = skipSpace(bytes, at + 1);
    if (bytes[i] === byte.closeObject) return i + 1;
    /** Where each tracked key was. */
    const seen: number[] = [];
    /** Where members that are cut began, as long as none before them is kept. */
    let leading = -1;
    let isAnyKept = false;
    let previousEnd = i;
    for (;;) {
      const keyEnd = skipString(bytes, i);
      const value = skipColon(bytes, keyEnd);
      const key = trackedKey(shape, bytes, i, keyEnd);
      let after: number;
      if (key !== undefined && (key.role === 'cut' || key.role === 'data')) {
        after = skipValue(bytes, value);
        if (key.role === 'data') this.found.dataCount = this.#countMembers(value);
        if (isAnyKept) this.#edit(previousEnd, after);
        else if (leading === -1) leading = i;
      } else {
        if (leading !== -1) this.#edit(leading, i);
        leading = -1;
        isAnyKept = true;
        after = key === undefined ? skipValue(bytes, value) : this.#readFirst(i, value, key, seen);
      }
      const next = nextMember(bytes, after, byte.closeObject);
      if (next === -1) {
        if (leading !== -1) this.#edit(leading, after);
        if (gap !== undefined) gap.isFilled = isAnyKept;
        return skipSpace(bytes, after) + 1;
      }
      previousEnd = after;
      i = next;
    }
  }

  /** A tracked key must be the first of its name. @param at of the key @param value of what follows it */
  #readFirst(at: number, value: number, key: TrackedKey, seen: number[]): number {
    const earlier = seen[key.index];
    if (earlier !== undefined) throw new Repeated(earlier, this.#endOfMember(earlier));
    seen[key.index] = at;
    return this.#readTracked(value, key);
  }

  /** Where the member after the one at `at` begins: there is one. */
  #endOfMember(at: number): number {
    const bytes = this.#bytes;
    return nextMember(bytes, skipValue(bytes, skipKey(bytes, at)), byte.closeObject);
  }

  #readTracked(at: number, key: TrackedKey): number {
    switch (key.role) {
      case 'pass':
        return this.#readValue(at, key.shape);
      case 'slot':
        return this.#readSlot(at, key);
      case 'labels':
      case 'owners':
        return this.#readAside(at, key);
      default:
        return this.#readGap(at, key);
    }
  }

  #readSlot(at: number, { slot, shape }: TrackedKey): number {
    const bytes = this.#bytes;
    const c = bytes[at];
    if (shape.term !== undefined) this.#addTerm(shape.term, at);
    if (c !== byte.quote && c !== nullStart) throw new MalformedAnswer(`an object whose ${slot} is no text`);
    const after = skipScalar(bytes, at);
    if (c === nullStart) return after;
    this.#places.set(slot!, [at, after]);
    if (slot === 'resourceVersion' && this.#replacesVersion) this.found.version = this.#edit(at, after);
    return after;
  }

  /** Labels and owners are kept as JSON, for `document.ts` to read. */
  #readAside(at: number, { role, text }: TrackedKey): number {
    if (role === 'labels') this.#requireObject(at, text);
    const after = skipValue(this.#bytes, at);
    const json = this.#bytes.toString('utf8', at, after);
    if (role === 'labels') this.found.labels = json;
    else this.found.owners = json;
    return after;
  }

  /** `metadata` and its annotations, to which members are added. */
  #readGap(at: number, { role, shape, text }: TrackedKey): number {
    this.#requireObject(at, text);
    const isNull = this.#bytes[at] === nullStart;
    if (isNull && role === 'metadata') throw new MalformedAnswer('an object without metadata');
    const edit = isNull ? this.#edit(at, skipScalar(this.#bytes, at)) : this.#edit(at + 1, at + 1);
    const gap: Gap = { edit, isFilled: false };
    if (role === 'metadata') this.found.metadata = gap;
    else this.found.annotations = gap;
    if (!isNull) return this.#readObject(at, shape, gap);
    this.found.hasNullAnnotations = true;
    return edit.end;
  }

  /** Null counts as an object. */
  #requireObject(at: number, name: string): void {
    const c = this.#bytes[at];
    if (c !== byte.openObject && c !== nullStart) throw new MalformedAnswer(`an object whose ${name} is no object`);
  }

  #readValue(at: number, shape: Shape): number {
    const c = this.#bytes[at];
    if (c === byte.openObject && shape.size > 0) return this.#readObject(at, shape);
    if (c === byte.openList && shape.each !== undefined) return this.#readList(at, shape.each);
    if (shape.term !== undefined) this.#addTerm(shape.term, at);
    return skipValue(this.#bytes, at);
  }

  #readList(at: number, each: Shape): number {
    const bytes = this.#bytes;
    let i = skipSpace(bytes, at + 1);
    if (bytes[i] === byte.closeList) return i + 1;
    for (;;) {
      const after = this.#readValue(i, each);
      const next = nextMember(bytes, after, byte.closeList);
      if (next === -1) return skipSpace(bytes, after) + 1;
      i = next;
    }
  }

  /** A scalar as text; null, lists and objects are no term. */
  #addTerm(path: string, at: number): void {
    const bytes = this.#bytes;
    const c = bytes[at];
    if (c === byte.openObject || c === byte.openList || c === nullStart) return;
    const after = skipScalar(bytes, at);
    this.terms.push([path, c === byte.quote ? textOf(bytes, at, after) : bytes.toString('latin1', at, after)]);
  }

  #countMembers(at: number): number {
    if (this.#bytes[at] !== byte.openObject) return 0;
    let count = 0;
    for (const members = new MemberCursor(this.#bytes, at); members.next();) count += 1;
    return count;
  }
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
