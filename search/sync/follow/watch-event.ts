// One line of a member's watch with its object as bytes. The object is cut out, not parsed and written again. Only
// bookmarks and errors, which are never stored, are read as values.
import { MalformedAnswer } from '../../../lib/json/malformed-json.ts';
import { readWatchLine, type StatusAnswer } from '../../../cache/hub/hub-events.ts';
import {
  byte,
  malformed,
  maxDepth,
  nextMember,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
  textOf,
} from '../../../lib/json/json-scan.ts';

/** A watch event (apimachinery metav1.WatchEvent). */
export type MemberEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Buffer }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly status: StatusAnswer };

/** How every API server in Go begins an event; any other order is read the long way. */
const usualStart = /^\{"type":"(ADDED|MODIFIED|DELETED)","object":/;

/** @throws MalformedAnswer; the object of a change is checked by its reader */
export function readMemberEvent(line: Buffer): MemberEvent {
  const usual = usualStart.exec(line.toString('latin1', 0, 32));
  if (usual !== null && line[line.length - 1] === byte.closeObject) {
    return { type: usual[1] as 'ADDED', object: line.subarray(usual[0].length, -1) };
  }
  const { type, object } = membersOf(line);
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    if (object === undefined) throw new MalformedAnswer('an event without object');
    return { type, object };
  }
  const event = readWatchLine(line.toString('utf8'));
  if (event.type !== 'BOOKMARK' && event.type !== 'ERROR') throw malformed();
  return event;
}

function membersOf(line: Buffer): { readonly type: string; readonly object: Buffer | undefined } {
  const open = new Uint8Array(maxDepth);
  let type = '';
  let object: Buffer | undefined;
  let at = skipSpace(line, 0);
  if (line[at] !== byte.openObject) throw malformed();
  at = skipSpace(line, at + 1);
  if (line[at] === byte.closeObject) return { type, object };
  for (;;) {
    const keyEnd = skipString(line, at);
    const key = textOf(line, at, keyEnd);
    const value = skipColon(line, keyEnd);
    const after = skipValue(line, value, open);
    if (key === 'type' && line[value] === byte.quote) type = textOf(line, value, after);
    if (key === 'object') object = line.subarray(value, after);
    at = nextMember(line, after, byte.closeObject);
    if (at === -1) return { type, object };
  }
}
