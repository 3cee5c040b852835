// Reads the JSON bytes of an object once, finds the values that a row needs, and records which bytes are to be removed,
// inserted or replaced. Easy to get wrong: all other bytes must stay exactly as they are (order of keys, large numbers,
// `1.0`, escapes). So an object is never parsed and serialised again.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
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
} from '../../lib/json/json-scan.ts';
import { MemberCursor } from '../../lib/json/json-cursor.ts';
import { isRemoved, trackedKey, type Shape, type Slot, type TrackedKey } from './document-shape.ts';

/** A range of bytes that `text` replaces. Edits are in order and never overlap. */
interface Edit {
  readonly start: number;
  readonly end: number;
  text: string;
}

/**
 * Thrown when a tracked key occurs twice in an object. The range is the first occurrence, which JSON parsers ignore.
 */
export class Repeated extends Error {
  readonly start: number;
  readonly end: number;
  constructor(start: number, end: number) {
    super('repeated');
    this.start = start;
    this.end = end;
  }
}

/**
 * What a DocumentPass has found in an object. `labels` and `owners` (the ownerReferences) are JSON texts, '' when the
 * object has none. `dataCount` is the number of keys in the `data` of a Secret.
 */
interface Found {
  labels: string;
  owners: string;
  dataCount: number;
  metadata?: Gap;
  annotations?: Gap;
  /** True when the annotations are replaced as a whole, because they are null or pruned. */
  replacesAnnotations?: boolean;
  /** True when the object had a field that options prune. */
  isPruned?: boolean;
  version?: Edit;
}

/**
 * The position after the opening brace of an object, where JSON members can be inserted. `isFilled` says whether other
 * members come after it, so that a comma is needed.
 */
interface Gap {
  readonly edit: Edit;
  isFilled: boolean;
}

function fill({ edit, isFilled }: Gap, members: string): void {
  if (members !== '') edit.text = isFilled ? `${members},` : members;
}

/** The first byte of `null`. */
const nullStart = 0x6e;

/** Reads one object and writes its stored form. Call `read` once, then `text` and `write`. */
export class DocumentPass {
  readonly #bytes: Buffer;
  readonly #replacesVersion: boolean;
  readonly #edits: Edit[] = [];
  readonly #places = new Map<Slot, readonly [start: number, end: number]>();
  #root: Gap | undefined;
  readonly terms: (readonly [path: string, value: string])[] = [];
  readonly found: Found = { labels: '', owners: '', dataCount: 0 };

  /** Prepares the pass over one object. @param replacesVersion whether `write` replaces the object's resourceVersion */
  constructor(bytes: Buffer, replacesVersion: boolean) {
    this.#bytes = bytes;
    this.#replacesVersion = replacesVersion;
  }

  /**
   * Reads the whole object.
   * @throws MalformedAnswer when it is not an object of Kubernetes; Repeated when a key occurs twice
   */
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
   * Returns the stored form of the object, in a buffer with its own memory, so that it can be moved to another thread.
   * @param missing members to insert at the top of the object
   * @param added members to insert into its annotations
   * @param resourceVersion JSON text that replaces the object's resourceVersion, if the constructor asked for that;
   * undefined to keep it
   */
  write(missing: string, added: string, resourceVersion: string | undefined): Buffer {
    const { metadata, annotations, replacesAnnotations, version } = this.found;
    fill(this.#root!, missing);
    if (annotations === undefined) fill(metadata!, `"annotations":{${added}}`);
    else if (replacesAnnotations === true) annotations.edit.text = `{${added}}`;
    else fill(annotations, added);
    if (version !== undefined)
      version.text = resourceVersion ?? this.#bytes.toString('utf8', version.start, version.end);
    return applied(this.#bytes, this.#edits);
  }

  #edit(start: number, end: number): Edit {
    const made = { start, end, text: '' };
    this.#edits.push(made);
    return made;
  }

  /**
   * Reads the object whose brace is at `at`, and returns the position after it. Sets `gap.isFilled` when a member is
   * kept.
   */
  #readObject(at: number, shape: Shape, gap?: Gap): number {
    const bytes = this.#bytes;
    let i = skipSpace(bytes, at + 1);
    if (bytes[i] === byte.closeObject) return i + 1;
    /** The position of each tracked key that was seen, by the key's index. */
    const seen: number[] = [];
    /**
     * Where the removed keys at the beginning of the object start; -1 when there are none, or a kept key came before.
     */
    let leading = -1;
    let isAnyKept = false;
    let previousEnd = i;
    for (;;) {
      const keyEnd = skipString(bytes, i);
      const value = skipColon(bytes, keyEnd);
      const key = trackedKey(shape, bytes, i, keyEnd);
      let after: number;
      if (key !== undefined && isRemoved(key.role)) {
        after = skipValue(bytes, value);
        if (key.role === 'data') this.found.dataCount = this.#countMembers(value);
        if (key.role === 'prune') this.found.isPruned = true;
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

  /** Reads the value of a tracked key. @throws Repeated when this object already had the key */
  #readFirst(at: number, value: number, key: TrackedKey, seen: number[]): number {
    const earlier = seen[key.index];
    if (earlier !== undefined) throw new Repeated(earlier, this.#endOfMember(earlier));
    seen[key.index] = at;
    return this.#readTracked(value, key);
  }

  /** The position where the member after the one at `at` begins. The object must have a further member. */
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

  /** Stores labels or owner references as JSON text, which document.ts parses. */
  #readAside(at: number, { role, text }: TrackedKey): number {
    if (role === 'labels') this.#requireObject(at, text);
    const after = skipValue(this.#bytes, at);
    const json = this.#bytes.toString('utf8', at, after);
    if (role === 'labels') this.found.labels = json;
    else this.found.owners = json;
    return after;
  }

  /** Reads `metadata` or its annotations, and records where members can be inserted into them. */
  #readGap(at: number, { role, shape, text }: TrackedKey): number {
    this.#requireObject(at, text);
    const isNull = this.#bytes[at] === nullStart;
    if (isNull && role === 'metadata') throw new MalformedAnswer('an object without metadata');
    if (role === 'prunedAnnotations' && !isNull) this.found.isPruned = true;
    const isReplaced = isNull || role === 'prunedAnnotations';
    const edit = isReplaced ? this.#edit(at, skipValue(this.#bytes, at)) : this.#edit(at + 1, at + 1);
    const gap: Gap = { edit, isFilled: false };
    if (role === 'metadata') this.found.metadata = gap;
    else this.found.annotations = gap;
    if (!isReplaced) return this.#readObject(at, shape, gap);
    this.found.replacesAnnotations = true;
    return edit.end;
  }

  /** Throws MalformedAnswer unless the value is an object or null. */
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

  /**
   * Records a scalar value, as text, so that it can be searched under `path`. Null, lists and objects are not recorded.
   */
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

/** Returns the bytes with all edits applied, in a buffer that shares no memory with others. */
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
