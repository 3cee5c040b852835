// Turns one entry of the change log into what one watcher sees: an addition, a change, a deletion or nothing. When an
// object stops matching the selector, the watcher gets a deletion with the last body that matched. When the watcher
// loses the right to see it, the deletion has only the object's name, never a newer body.
import type { LogEntry } from '../stores/store.ts';
import type { RowKey } from '../query/match.ts';
import { typeKey } from '../types.ts';
import type { TypeInfo } from '../types.ts';

/** An event for a watcher: its type and the bytes of the object. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly raw: Uint8Array;
}

/** Whether the object matches what the watcher has asked for. */
export type IsAskedFor = (raw: Uint8Array, key: RowKey) => boolean;

/** Returns the event that a log entry means for one watcher, without a check of rights; undefined for no event. */
export function changeOf(entry: LogEntry, isAskedFor: IsAskedFor): Change | undefined {
  const { before, after } = entry;
  const was = before !== undefined && isAskedFor(before, entry);
  const is = after !== undefined && isAskedFor(after, entry);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', raw: after };
  return was ? { type: 'DELETED', raw: before } : undefined;
}

/** Identifies an object and shows nothing of its contents. */
export interface Identity {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** An object with nothing but its identity, for a deletion. @param resourceVersion of the index */
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

/** A text that identifies a row among all rows of the index. */
export function rowIdentity(row: Pick<LogEntry, 'incarnation' | 'type' | 'namespace' | 'name'>): string {
  return `${row.incarnation} ${row.type} ${row.namespace} ${row.name}`;
}

/** The type of a log entry, or undefined when it is not among `types`. */
export function typeOf(types: readonly TypeInfo[], entry: Pick<LogEntry, 'type'>): TypeInfo | undefined {
  return types.find((type) => typeKey(type) === entry.type);
}
