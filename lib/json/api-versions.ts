// Changes single strings of a JSON object directly in its bytes. All other bytes stay unchanged: numbers beyond 2^53,
// escape sequences, repeated keys, and nesting that would overflow the stack of a recursive function.
import { MemberCursor } from './json-cursor.ts';
import { byte, malformed, skipSpace, skipString, skipValue, textOf } from './json-scan.ts';

/**
 * The JSON with every `apiVersion` equal to `from` replaced by `to`, at any depth: in lists, Tables and managedFields.
 * @throws MalformedAnswer when the bytes are not one JSON value, or nested deeper than Go's encoding/json reads
 */
export function withApiVersions(bytes: Buffer, from: string, to: string): Buffer {
  requireOneValue(bytes);
  const replacement = Buffer.from(JSON.stringify(to));
  const kept: Buffer[] = [];
  let copied = 0;
  let i = 0;
  while (i < bytes.length) {
    if (bytes[i] !== byte.quote) {
      i += 1;
      continue;
    }
    const end = skipString(bytes, i);
    const colon = skipSpace(bytes, end);
    const value = bytes[colon] === byte.colon ? skipSpace(bytes, colon + 1) : -1;
    const isVersion = value >= 0 && bytes[value] === byte.quote && textOf(bytes, i, end) === 'apiVersion';
    i = end;
    if (!isVersion) continue;
    const valueEnd = skipString(bytes, value);
    if (textOf(bytes, value, valueEnd) === from) {
      kept.push(bytes.subarray(copied, value), replacement);
      copied = valueEnd;
    }
    i = valueEnd;
  }
  return kept.length === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(copied)]);
}

/**
 * Adds `metadata.uid` to the object, so that the API server refuses a write to another object of the same name. A uid
 * that is there already stays; the API server compares it.
 * @returns undefined when it is not certain which uid the API server would read: without `metadata`, with a repeated
 *   key `metadata` or `uid`, or with a uid that is empty or no string
 * @throws MalformedAnswer when the bytes are not a JSON object
 */
export function withUid(bytes: Buffer, uid: string): Buffer | undefined {
  requireOneValue(bytes);
  const at = skipSpace(bytes, 0);
  if (bytes[at] !== byte.openObject) throw malformed();
  const metadata = onlyMember(bytes, at, 'metadata');
  if (metadata === undefined || bytes[metadata.start] !== byte.openObject) return undefined;
  const { start, end } = metadata;
  const uids = membersOf(bytes, start, 'uid');
  if (uids.length > 0) {
    const [only] = uids;
    const isText = uids.length === 1 && bytes[only!.start] === byte.quote;
    return isText && textOf(bytes, only!.start, only!.end) !== '' ? bytes : undefined;
  }
  const isEmpty = skipSpace(bytes, start + 1) === end - 1;
  const inserted = Buffer.from(`"uid":${JSON.stringify(uid)}${isEmpty ? '' : ','}`);
  return Buffer.concat([bytes.subarray(0, start + 1), inserted, bytes.subarray(start + 1)]);
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function membersOf(bytes: Buffer, at: number, key: string): readonly Range[] {
  const found: Range[] = [];
  for (const member = new MemberCursor(bytes, at); member.next();)
    if (member.key === key) found.push({ start: member.start, end: member.end });
  return found;
}

function onlyMember(bytes: Buffer, at: number, key: string): Range | undefined {
  const found = membersOf(bytes, at, key);
  return found.length === 1 ? found[0] : undefined;
}

function requireOneValue(bytes: Buffer): void {
  const end = skipValue(bytes, skipSpace(bytes, 0));
  if (skipSpace(bytes, end) !== bytes.length) throw malformed();
}
