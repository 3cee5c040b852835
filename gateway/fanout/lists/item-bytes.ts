// Writes the cluster's name on an object or a row, in its bytes; all other bytes stay as the member wrote them.
// Easy to get wrong: an object may already have this annotation, with its key escaped in any way. Ours replaces it, and
// an object in which a reader could still find another value is refused.
import { ElementCursor, MemberCursor } from '../../../lib/json/json-cursor.ts';
import { byte, skipSpace, textOf } from '../../../lib/json/json-scan.ts';
import { MalformedAnswer } from '../../../lib/json/malformed-json.ts';
import { clusterAnnotation } from '../../../search/types.ts';

/** The position of a value in some bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text that replaces a span. */
export interface Edit extends Span {
  readonly text: string;
}

/**
 * Members of the object at `at`; empty when it is no object.
 * @throws MalformedAnswer also for a repeated key, however escaped. Go joins two objects and skips a null after one,
 *   others take the first or the last, so each reader would find another cluster on it.
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

/** Elements of the list at `at`; empty when it is no list. @throws MalformedAnswer */
export function elementsOf(bytes: Buffer, at: number): Span[] {
  const elements: Span[] = [];
  if (bytes[at] !== byte.openList) return elements;
  for (const element = new ElementCursor(bytes, at); element.next();) {
    elements.push({ start: element.start, end: element.end });
  }
  return elements;
}

/** The text of a string at a span, or undefined when something else is there. */
export function stringAt(bytes: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || bytes[span.start] !== byte.quote) return undefined;
  return textOf(bytes, span.start, span.end);
}

/** The bytes with the edits made. Edits may come in any order and must not overlap. */
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

/** What is written on an object. */
export interface ObjectMark {
  readonly cluster: string;
  /** Replaces the object's own, as in events of a merged watch. */
  readonly resourceVersion?: string | undefined;
}

/**
 * The edits that mark the object at `at`; none when it has no metadata.
 * @throws MalformedAnswer when it is no object, its metadata is no object, or it holds further objects as a list does
 */
export function markEdits(bytes: Buffer, at: number, mark: ObjectMark): Edit[] {
  if (bytes[at] !== byte.openObject) throw new MalformedAnswer('something that is no object');
  const own = membersOf(bytes, at);
  refuseList(bytes, own.get('items'));
  const metadata = own.get('metadata');
  if (metadata === undefined) return [];
  if (bytes[metadata.start] !== byte.openObject) throw new MalformedAnswer('an object with metadata that is none');
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
 * kubectl takes an object with `items` apart, and lists inside it too, so objects in there would go without the mark.
 * Items that are plain values are allowed: they are a field of the object's own type.
 */
function refuseList(bytes: Buffer, items: Span | undefined): void {
  if (items === undefined) return;
  for (const { start } of elementsOf(bytes, items.start)) {
    const members = membersOf(bytes, start);
    if (members.has('metadata') || members.has('items')) throw new MalformedAnswer('a list in the place of an object');
  }
}

/** New members at the beginning of an object. */
function insertion({ start }: Span, size: number, members: readonly string[]): Edit {
  return { start: start + 1, end: start + 1, text: members.join() + (size > 0 ? ',' : '') };
}

/** The object with its mark. @throws MalformedAnswer */
export function markedObject(bytes: Buffer, mark: ObjectMark): Buffer {
  return edited(bytes, markEdits(bytes, skipSpace(bytes, 0), mark));
}
