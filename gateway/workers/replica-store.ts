// The clusters as a worker knows them: a copy of the first process's store, with its resourceVersions and history, so
// that a client may list at one worker and watch at another. A batch of events is one swap: a listener that gets its
// first event already reads the state after its last.
import { makeClusterEvents } from '../../cache/model/cluster-events.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { ClusterEvent } from '../../cache/model/cluster-events.ts';
import type { ClusterReader } from '../../cache/model/store.ts';
import type { ClusterWireReader, WireEvent, WireSnapshot } from './cluster-wire.ts';

/** A store that is changed by messages only. */
export interface ReplicaStore extends ClusterReader {
  /** Takes the events of one swap. @throws Error for an event that does not follow from the state before */
  apply(events: readonly WireEvent[]): void;
}

const historyLength = 1000;

/** Makes it from the snapshot of a store. */
export function makeReplicaStore(
  snapshot: WireSnapshot,
  reader: ClusterWireReader,
  onListenerError?: (error: unknown) => void,
): ReplicaStore {
  const read = (record: Parameters<ClusterWireReader['record']>[0]): ClusterRecord => reader.record(record);
  const past = snapshot.history.events.map(({ type, record, previous }): ClusterEvent => ({
    type,
    record: read(record),
    ...(previous && { previous: read(previous) }),
  }));
  const changes = makeClusterEvents({ ...snapshot.history, events: past }, historyLength, onListenerError);
  const byName = new Map(snapshot.records.map((record) => [record.spec.name, read(record)]));
  const byUid = new Map([...byName.values()].map((record) => [record.spec.uid, record]));
  let sorted: readonly ClusterRecord[] | undefined;

  return {
    get: (name) => byName.get(name),
    getByUid: (uid) => byUid.get(uid),
    list() {
      sorted ??= Object.freeze([...byName.values()].sort((a, b) => (a.spec.name < b.spec.name ? -1 : 1)));
      return sorted;
    },
    get resourceVersion() {
      return String(changes.version);
    },
    subscribe: changes.subscribe,
    eventsSince: changes.since,
    apply(wires) {
      const events = wires.map(({ type, uid, record, spec }): ClusterEvent => {
        const before = byUid.get(uid);
        const own = spec === undefined ? before?.spec : reader.spec(spec);
        if (own === undefined || own.uid !== uid || (type !== 'ADDED' && before === undefined))
          throw new Error('an event of a cluster that was never sent');
        const now = Object.freeze({ ...record, spec: own });
        if (type === 'DELETED') {
          byUid.delete(uid);
          byName.delete(own.name);
        } else {
          byUid.set(uid, now);
          byName.set(own.name, now);
        }
        return Object.freeze({ type, record: now, ...(type === 'MODIFIED' && { previous: before! }) });
      });
      sorted = undefined;
      changes.publish(events);
    },
  };
}
