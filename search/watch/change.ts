// What one entry of the log is for one watcher: an addition, a change, a deletion or nothing. Easy to get wrong: an
// object that leaves the selector is deleted for that watcher and told as it was before; one that it may no longer see
// is told by its name only, never by a newer body.
import type { LogEntry } from '../stores/store.ts';
import type { RowKey } from '../query/match.ts';
import { typeKey } from '../types.ts';
import type { TypeInfo } from '../types.ts';

/** What a watcher is told of an object. */
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

/** The object of a deletion that tells nothing but the identity; `resourceVersion` is the index's. */
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
