// Reads one line of a member cluster's watch. The bytes of the object are cut out of the line and not parsed. Only
// bookmarks and errors are parsed, because they are not stored.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readWatchLine } from '../../kube/events.ts';
import type { StatusAnswer } from '../../kube/status.ts';
import { MemberCursor } from '../../lib/json/json-cursor.ts';
import { byte, malformed, skipSpace, textOf } from '../../lib/json/json-scan.ts';

/** One event of a watch (apimachinery metav1.WatchEvent). */
export type MemberEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Buffer }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly status: Pick<StatusAnswer, 'code' | 'reason'> };

/** How API servers written in Go begin an event. An event with another order of keys is read by slower code. */
const usualStart = /^\{"type":"(ADDED|MODIFIED|DELETED)","object":/;

/** Reads one event. The object is not checked here. @throws MalformedAnswer when the line is not an event */
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
  const event = readWatchLine(line);
  if (event.type !== 'BOOKMARK' && event.type !== 'ERROR') throw malformed();
  return event;
}

function membersOf(line: Buffer): { readonly type: string; readonly object: Buffer | undefined } {
  let type = '';
  let object: Buffer | undefined;
  const at = skipSpace(line, 0);
  if (line[at] !== byte.openObject) throw malformed();
  for (const member = new MemberCursor(line, at); member.next();) {
    const { key, start, end } = member;
    if (key === 'type' && line[start] === byte.quote) type = textOf(line, start, end);
    if (key === 'object') object = line.subarray(start, end);
  }
  return { type, object };
}
