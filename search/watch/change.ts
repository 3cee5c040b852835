// Turns one entry of the change log into what one watcher sees: an addition, a change, a deletion or nothing. When an
// object stops matching the watch's selector, the watcher gets a deletion with the last state of the object that
// matched. When the watcher loses the right to see an object, the deletion has only the object's identity, never a
// newer state.
import type { LogEntry } from '../../store/store.ts';
import type { RowKey } from '../../query/types.ts';
import { typeKey } from '../../query/types.ts';
import type { TypeInfo } from '../../query/types.ts';

/** A watch event before it is written: its type and the JSON bytes of its object. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly raw: Uint8Array;
}

/**
 * Whether an object (`raw`, its JSON bytes; `key`, its cluster, type, namespace and name) matches the watch's query.
 */
export type IsAskedFor = (raw: Uint8Array, key: RowKey) => boolean;

/**
 * Returns the event that a log entry means for one watcher; undefined for no event. The caller has checked that the
 * watcher may see the object.
 */
export function changeOf(entry: LogEntry, isAskedFor: IsAskedFor): Change | undefined {
  const { before, after } = entry;
  const was = before !== undefined && isAskedFor(before, entry);
  const is = after !== undefined && isAskedFor(after, entry);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', raw: after };
  return was ? { type: 'DELETED', raw: before } : undefined;
}

/**
 * The fields that name an object in a cluster. Nothing else of the object is sent to a watcher that may no longer see
 * it.
 */
export interface Identity {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Makes the object of a DELETED event: only the identity, none of the contents.
 * @param resourceVersion of the index
 */
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

/** A key for Maps and Sets: one text for each row of the index. It joins incarnation, type, namespace and name. */
export function rowIdentity(row: Pick<LogEntry, 'incarnation' | 'type' | 'namespace' | 'name'>): string {
  return `${row.incarnation} ${row.type} ${row.namespace} ${row.name}`;
}

/** Finds the type of a log entry among `types`; undefined when `types` does not contain it. */
export function typeOf(types: readonly TypeInfo[], entry: Pick<LogEntry, 'type'>): TypeInfo | undefined {
  return types.find((type) => typeKey(type) === entry.type);
}
