// What one entry of the log is for one watcher: an addition, a change, a deletion or nothing. An object that leaves the
// selector is deleted for that watcher, with its body as it was before. One that the watcher may no longer see is
// deleted with its name only, never with a newer body.
import type { LogEntry } from '../stores/store.ts';
import type { RowKey } from '../query/match.ts';
import { typeKey } from '../types.ts';
import type { TypeInfo } from '../types.ts';

/** What a watcher is sent of an object. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly raw: Uint8Array;
}

/** Whether the object is among those a watcher has asked for. */
export type IsAskedFor = (raw: Uint8Array, key: RowKey) => boolean;

/** The change as the watcher sees it, rights left out. */
export function changeOf(entry: LogEntry, isAskedFor: IsAskedFor): Change | undefined {
  const { before, after } = entry;
  const was = before !== undefined && isAskedFor(before, entry);
  const is = after !== undefined && isAskedFor(after, entry);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', raw: after };
  return was ? { type: 'DELETED', raw: before } : undefined;
}

/** Which object it is, and nothing of what is in it. */
export interface Identity {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The object of a deletion that shows nothing but the identity; `resourceVersion` is the index's. */
export function identityObject(type: TypeInfo, row: Identity, resourceVersion: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      apiVersion: type.group === '' ? type.version : `${type.group}/${type.version}`,
      kind: type.kind,
      metadata: {
        name: row.name,
        ...(row.namespace === '' ? {} : { namespace: row.namespace }),
        uid: row.uid,
        resourceVersion,
        annotations: { 'shadow.clusterpedia.io/cluster-name': row.cluster },
      },
    }),
  );
}

/** A text for which of all rows a row is. */
export function rowIdentity(row: Pick<LogEntry, 'incarnation' | 'type' | 'namespace' | 'name'>): string {
  return `${row.incarnation} ${row.type} ${row.namespace} ${row.name}`;
}

/** The stored type of an entry. */
export function typeOf(types: readonly TypeInfo[], entry: Pick<LogEntry, 'type'>): TypeInfo | undefined {
  return types.find((type) => typeKey(type) === entry.type);
}
