// Writes the cluster's name into an object or a Table row, as an annotation, by changing its JSON bytes. All other
// bytes stay as the cluster sent them. Easy to get wrong: a cluster may send the same annotation with another value,
// and may write its key with JSON escapes. The gateway's value must replace the cluster's value, and an object in which
// a client could still read another value is refused.
import { ElementCursor, MemberCursor } from '../../../lib/json/json-cursor.ts';
import { byte, skipSpace, textOf } from '../../../lib/json/json-scan.ts';
import { MalformedAnswer } from '../../../lib/json/json-scan.ts';
import { clusterAnnotation } from '../../../query/types.ts';

/** Where a JSON value begins and ends in a buffer; `end` is the position after its last byte. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text that replaces the bytes from `start` to `end`. */
export interface Edit extends Span {
  readonly text: string;
}

/**
 * Positions of the values of the JSON object that begins at byte `at`, by key; empty when no object begins there.
 * @throws MalformedAnswer for malformed JSON and for a key that occurs twice, also when the two are escaped
 * differently: JSON parsers differ in which value of a repeated key they use, so a client could read another cluster
 * name than the gateway wrote
 */
export function membersOf(bytes: Buffer, at: number): Map<string, Span> {
  const members = new Map<string, Span>();
  if (bytes[at] !== byte.openObject) return members;
  for (const member = new MemberCursor(bytes, at); member.next();) {
    const { key, start, end } = member;
    if (members.has(key)) throw new MalformedAnswer('an object with repeated keys');
    members.set(key, { start, end });
  }
  return members;
}

/**
 * Positions of the elements of the JSON array that begins at `at`; empty when no array begins there.
 * @throws MalformedAnswer for malformed JSON
 */
export function elementsOf(bytes: Buffer, at: number): Span[] {
  const elements: Span[] = [];
  if (bytes[at] !== byte.openList) return elements;
  for (const element = new ElementCursor(bytes, at); element.next();) {
    elements.push({ start: element.start, end: element.end });
  }
  return elements;
}

/** The text of the JSON string at a position; undefined when another kind of value is there. */
export function stringAt(bytes: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || bytes[span.start] !== byte.quote) return undefined;
  return textOf(bytes, span.start, span.end);
}

/** The bytes after all edits. The edits may be in any order but must not overlap. */
export function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  pieces.push(bytes.subarray(from));
  return Buffer.concat(pieces);
}

/** What the gateway writes into an object that a cluster sent. */
export interface ObjectMark {
  readonly cluster: string;
  /**
   * When set, this replaces the object's own resourceVersion: each event of a merged watch has a resourceVersion that
   * stands for all clusters.
   */
  readonly resourceVersion?: string | undefined;
}

/**
 * The edits that write the cluster's name and the resourceVersion of `mark` into the object at byte `at`; none when the
 * object has no metadata.
 * @throws MalformedAnswer when the value at `at` or its metadata is not an object, or when its `items` hold further
 * objects as in a List
 */
export function markEdits(bytes: Buffer, at: number, mark: ObjectMark): Edit[] {
  if (bytes[at] !== byte.openObject) throw new MalformedAnswer('something that is not an object');
  const own = membersOf(bytes, at);
  refuseList(bytes, own.get('items'));
  const metadata = own.get('metadata');
  if (metadata === undefined) return [];
  if (bytes[metadata.start] !== byte.openObject) throw new MalformedAnswer('an object whose metadata is not an object');
  const members = membersOf(bytes, metadata.start);
  const added: string[] = [];
  const edits: Edit[] = [];
  const put = (key: string, value: string): void => {
    const span = members.get(key);
    if (span === undefined) added.push(`${JSON.stringify(key)}:${value}`);
    else edits.push({ ...span, text: value });
  };
  const { cluster, resourceVersion } = mark;
  if (resourceVersion !== undefined) put('resourceVersion', JSON.stringify(resourceVersion));
  const value = JSON.stringify(cluster);
  const annotations = members.get('annotations');
  if (annotations === undefined || bytes[annotations.start] !== byte.openObject) {
    put('annotations', `{${JSON.stringify(clusterAnnotation)}:${value}}`);
  } else {
    const inside = membersOf(bytes, annotations.start);
    const known = inside.get(clusterAnnotation);
    if (known !== undefined) edits.push({ ...known, text: value });
    else edits.push(insertion(annotations, inside.size, [`${JSON.stringify(clusterAnnotation)}:${value}`]));
  }
  if (added.length > 0) edits.push(insertion(metadata, members.size, added));
  return edits;
}

/**
 * Throws for an object whose `items` hold further objects. kubectl splits such Lists, also nested ones, into their
 * items, and these items would appear without the cluster's name. `items` that are plain values are an ordinary field
 * of some types and are allowed.
 */
function refuseList(bytes: Buffer, items: Span | undefined): void {
  if (items === undefined) return;
  for (const { start } of elementsOf(bytes, items.start)) {
    const members = membersOf(bytes, start);
    if (members.has('metadata') || members.has('items'))
      throw new MalformedAnswer('a list where an object was expected');
  }
}

/**
 * The edit that adds new fields at the beginning of an object. `size` is the number of fields that the object has
 * already.
 */
function insertion({ start }: Span, size: number, members: readonly string[]): Edit {
  return { start: start + 1, end: start + 1, text: members.join() + (size > 0 ? ',' : '') };
}

/**
 * The object's bytes, with the cluster's name and resourceVersion of `mark` written into them.
 * @throws MalformedAnswer when {@link markEdits} refuses the object
 */
export function markedObject(bytes: Buffer, mark: ObjectMark): Buffer {
  return edited(bytes, markEdits(bytes, skipSpace(bytes, 0), mark));
}
