// Stores all clusters as frozen records, by name. Sources write the specs, probe and index the status. Listeners are
// called after a whole change is stored, so a listener always reads the state after all events of this change.
import { isDeepStrictEqual } from 'node:util';
import { makeClusterEvents } from './cluster-events.ts';
import type { ClusterRecord, ClusterSpec, ClusterStatus } from './records.ts';
import { nameClusters } from './name-claims.ts';
import { markSameClusters } from './same-clusters.ts';
import type { ClusterEvent, ClusterListener } from './cluster-events.ts';

/** The store as requests and the `clusters` API use it. */
export interface ClusterReader {
  /** The current record with this name; undefined when there is none. A request should call this once only. */
  get(name: string): ClusterRecord | undefined;
  /** The current record with this uid; undefined when there is none. */
  getByUid(uid: string): ClusterRecord | undefined;
  /** All records, sorted by name. The returned array is frozen, and stays the same object until something changes. */
  list(): readonly ClusterRecord[];
  /**
   * resourceVersion of the last change, a decimal number. The first one is the current time in microseconds, so that it
   * also increases when the gateway restarts.
   */
  readonly resourceVersion: string;
  /** Calls the listener for every later event, in order. The returned function unsubscribes the listener. */
  subscribe(listener: ClusterListener): () => void;
  /**
   * Events after this resourceVersion, oldest first. 'expired' when some of these events were dropped from the history;
   * the client must then be answered with 410, so that it lists again.
   * @throws GatewayError BAD_REQUEST when `resourceVersion` is not a decimal number
   */
  eventsSince(resourceVersion: string): readonly ClusterEvent[] | 'expired';
}

/** The store as sources and probes use it. */
export interface ClusterStore extends ClusterReader {
  /**
   * Replaces all clusters of one source by `specs`. A cluster keeps its name as long as it asks for it. When several
   * new clusters ask for the same name, the oldest by `registeredAt` gets it (clusters without `registeredAt` count as
   * oldest). Among equally old ones, the order of the first apply() of their sources decides, then the order in
   * `specs`. A cluster that gets no name is stored under a substitute name, with problem `NameConflict` and without a
   * credential.
   * @throws Error when two specs have the same uid; nothing is changed then
   */
  apply(sourceId: string, specs: readonly ClusterSpec[]): void;
  /**
   * Does the same for several sources at once, as one change. A cluster that is new to the store takes its name from a
   * younger cluster that has the name already, so that the order in which sources are read makes no difference.
   * @param readings the specs of each source that was not read before, by the id of the source
   */
  applyFirst(readings: ReadonlyMap<string, readonly ClusterSpec[]>): void;
  /**
   * Replaces the status of the cluster with this uid. Returns false when there is no such cluster, or when the status
   * is the same as before.
   */
  setStatus(uid: string, status: ClusterStatus): boolean;
}

/** Clock, length of the history and error handler of a store. */
export interface ClusterStoreOptions {
  /** Returns Unix milliseconds; default Date.now. */
  readonly now?: () => number;
  /** How many events are kept for eventsSince(); older ones are dropped. Default 1000. */
  readonly historyLength?: number;
  /** Called when a listener throws; the other listeners are still called. */
  readonly onListenerError?: (error: unknown) => void;
}

/** Status of a cluster that the probe has not asked yet. */
export const unknownStatus: ClusterStatus = Object.freeze({
  conditions: Object.freeze([]),
  version: '',
  latencyMs: undefined,
});

/** Makes an empty store. */
export function createClusterStore(options: ClusterStoreOptions = {}): ClusterStore {
  const now = options.now ?? Date.now;
  let contributions: ReadonlyMap<string, readonly ClusterSpec[]> = new Map();
  let byName = new Map<string, ClusterRecord>();
  let byUid = new Map<string, ClusterRecord>();
  let sorted: readonly ClusterRecord[] | undefined;
  // Microseconds since 1970 are about 1.8e15, which a number holds exactly for the next two centuries.
  const version = Math.floor(now() * 1000);
  const changes = makeClusterEvents(version, options.historyLength ?? 1000, options.onListenerError);
  const { nextVersion, publish } = changes;

  function change(readings: ReadonlyMap<string, readonly ClusterSpec[]>, isFirst: boolean): void {
    const next = new Map([...contributions, ...readings]);
    const unknown = [...readings.values()].flat().filter(({ uid }) => isFirst && !byUid.has(uid));
    const wanted = nameClusters([...next.values()].flat(), {
      heldName: (uid) => byUid.get(uid)?.spec.name,
      firstRead: new Set(unknown.map(({ uid }) => uid)),
    });
    markSameClusters(wanted);
    contributions = next;

    const { records, events } = swap(wanted, byName, byUid, { nextVersion, createdAt: () => rfc3339(now()) });
    if (events.length === 0) return;
    byName = records;
    byUid = new Map([...records.values()].map((record) => [record.spec.uid, record]));
    sorted = undefined;
    publish(events);
  }

  function setStatus(uid: string, status: ClusterStatus): boolean {
    const old = byUid.get(uid);
    if (old === undefined || isDeepStrictEqual(old.status, status)) return false;
    const frozen = Object.freeze({
      ...status,
      conditions: Object.freeze(status.conditions.map((condition) => Object.freeze({ ...condition }))),
    });
    const record = Object.freeze({ ...old, status: frozen, resourceVersion: nextVersion() });
    byName.set(old.spec.name, record);
    byUid.set(uid, record);
    sorted = undefined;
    publish([eventOf('MODIFIED', record, old)]);
    return true;
  }

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
    apply: (sourceId, specs) => change(new Map([[sourceId, specs]]), false),
    applyFirst: (readings) => change(readings, true),
    setStatus,
    subscribe: changes.subscribe,
    eventsSince: changes.since,
  };
}

/** Computes the records after a change of specs, and the events of the change; deletions come first. */
function swap(
  wanted: ReadonlyMap<string, ClusterSpec>,
  byName: ReadonlyMap<string, ClusterRecord>,
  byUid: ReadonlyMap<string, ClusterRecord>,
  stamp: { readonly nextVersion: () => string; readonly createdAt: () => string },
): { readonly records: Map<string, ClusterRecord>; readonly events: readonly ClusterEvent[] } {
  const events: ClusterEvent[] = [];
  for (const old of byName.values()) {
    if (wanted.get(old.spec.name)?.uid === old.spec.uid) continue;
    events.push(eventOf('DELETED', Object.freeze({ ...old, resourceVersion: stamp.nextVersion() })));
  }
  const records = new Map<string, ClusterRecord>();
  for (const [name, spec] of wanted) {
    const old = byUid.get(spec.uid);
    const sameName = old?.spec.name === name;
    if (old !== undefined && sameName && sameSpec(old.spec, spec)) {
      records.set(name, old);
      continue;
    }
    const record = Object.freeze({
      spec: freezeSpec(spec),
      status: old?.status ?? unknownStatus,
      createdAt: old?.createdAt ?? stamp.createdAt(),
      resourceVersion: stamp.nextVersion(),
    });
    records.set(name, record);
    events.push(sameName ? eventOf('MODIFIED', record, old) : eventOf('ADDED', record));
  }
  return { records, events };
}

/**
 * Whether two specs are equal. Their credentials are compared by reference: a source of clusters keeps the same
 * CredentialSource while its input is unchanged.
 */
export function sameSpec(a: ClusterSpec, b: ClusterSpec): boolean {
  if (a === b) return true;
  if (a.credential !== b.credential) return false;
  return isDeepStrictEqual({ ...a, credential: undefined }, { ...b, credential: undefined });
}

function eventOf(type: ClusterEvent['type'], record: ClusterRecord, previous?: ClusterRecord): ClusterEvent {
  return Object.freeze({ type, record, ...(previous && { previous }) });
}

function freezeSpec(spec: ClusterSpec): ClusterSpec {
  for (const part of [spec.labels, spec.endpoint, spec.tls, spec.proxy, spec.proxy?.userinfo, spec.problem]) {
    if (part !== undefined) Object.freeze(part);
  }
  return Object.freeze(spec);
}

function rfc3339(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}Z`;
}
