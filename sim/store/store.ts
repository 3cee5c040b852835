// The simulator's etcd: every object of every resource, one revision counter, and a bounded history that watches
// start from. Easy to get wrong: an object that was handed out never changes, so writers pass a fresh copy and
// readers never mutate.
import { randomUUID } from 'node:crypto';
import { timestamp, type KubeObject } from '../types.ts';

/** One change, in revision order. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Storage key of the resource: `group/plural`, core group `/plural`. */
  readonly key: string;
  readonly object: KubeObject;
  /** The object before the change; absent on ADDED. */
  readonly previous: KubeObject | undefined;
  readonly revision: number;
}

/** What is created: name present, the rest of the identity filled in by the store. */
export type NewObject = Omit<KubeObject, 'metadata'> & { metadata: Partial<KubeObject['metadata']> & { name: string } };

/** Objects by resource, with a change feed. */
export interface Store {
  /** Revision of the last change. */
  readonly revision: number;
  get(key: string, namespace: string, name: string): KubeObject | undefined;
  /** In etcd order: by namespace, then name. An empty namespace means all. The array must not be changed. */
  list(key: string, namespace?: string): readonly KubeObject[];
  /** Adds an object; gives it uid, creationTimestamp and resourceVersion. The caller checked that it is absent. */
  insert(key: string, object: NewObject): KubeObject;
  /**
   * Replaces the object of the same name; returns the old one unchanged when nothing but the resourceVersion differs.
   */
  replace(key: string, object: KubeObject): KubeObject;
  /** Removes it; the final object carries the revision of its deletion. */
  remove(key: string, namespace: string, name: string): KubeObject | undefined;
  /** Changes of one resource after `revision`, or undefined when that is older than the history kept. */
  since(key: string, revision: number): readonly StoreEvent[] | undefined;
  /**
   * Every later change of one resource, or of all when `key` is `*`; called in order, synchronously. Returns the end.
   */
  subscribe(key: string, listener: (event: StoreEvent) => void): () => void;
  /** Forgets the history, as etcd's compaction does: older watches and continue tokens get 410. */
  compact(): void;
  /** Oldest revision a watch may start from. */
  readonly oldest: number;
}

/** Storage key of a resource. */
export function keyOf(resource: { readonly group: string; readonly plural: string }): string {
  return `${resource.group}/${resource.plural}`;
}

/** Makes an empty store. `historyLimit` counts events over all resources. */
export function createStore(options: { readonly now: () => Date; readonly historyLimit?: number }): Store {
  const limit = options.historyLimit ?? 20_000;
  const tables = new Map<string, Map<string, KubeObject>>();
  const ordered = new Map<string, readonly KubeObject[]>();
  const listeners = new Map<string, Set<(event: StoreEvent) => void>>();
  let history: StoreEvent[] = [];
  let revision = 1;
  let oldest = 1;

  function table(key: string): Map<string, KubeObject> {
    let rows = tables.get(key);
    if (rows === undefined) tables.set(key, (rows = new Map()));
    return rows;
  }

  function publish(event: StoreEvent): void {
    ordered.delete(event.key);
    history.push(event);
    if (history.length > limit * 2) {
      oldest = history[limit - 1]?.revision ?? revision;
      history = history.slice(limit);
    }
    for (const name of [event.key, '*']) for (const listener of Array.from(listeners.get(name) ?? [])) listener(event);
  }

  function withRevision(object: KubeObject | NewObject): KubeObject {
    revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } } as KubeObject;
  }

  return {
    get revision() {
      return revision;
    },
    get oldest() {
      return oldest;
    },
    get: (key, namespace, name) => tables.get(key)?.get(`${namespace}/${name}`),
    list(key, namespace = '') {
      let all = ordered.get(key);
      if (all === undefined) {
        all = [...table(key).entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
        ordered.set(key, all);
      }
      return namespace === '' ? all : all.filter((object) => object.metadata.namespace === namespace);
    },
    insert(key, object) {
      const { uid, creationTimestamp } = object.metadata;
      const stored = withRevision({
        ...object,
        metadata: {
          ...object.metadata,
          uid: uid ?? randomUUID(),
          creationTimestamp: creationTimestamp ?? timestamp(options.now()),
        },
      });
      table(key).set(pathOf(stored), stored);
      publish({ type: 'ADDED', key, object: stored, previous: undefined, revision });
      return stored;
    },
    replace(key, object) {
      const previous = table(key).get(pathOf(object));
      if (previous !== undefined && isSame(previous, object)) return previous;
      const stored = withRevision(object);
      table(key).set(pathOf(stored), stored);
      publish({ type: 'MODIFIED', key, object: stored, previous, revision });
      return stored;
    },
    remove(key, namespace, name) {
      const previous = table(key).get(`${namespace}/${name}`);
      if (previous === undefined) return undefined;
      const last = withRevision(previous);
      table(key).delete(`${namespace}/${name}`);
      publish({ type: 'DELETED', key, object: last, previous, revision });
      return last;
    },
    since(key, after) {
      if (after < oldest) return undefined;
      let start = history.length;
      while (start > 0 && (history[start - 1]?.revision ?? 0) > after) start -= 1;
      return history.slice(start).filter((event) => event.key === key);
    },
    subscribe(key, listener) {
      let set = listeners.get(key);
      if (set === undefined) listeners.set(key, (set = new Set()));
      set.add(listener);
      return () => set.delete(listener);
    },
    compact() {
      history = [];
      oldest = revision;
    },
  };
}

function pathOf(object: { metadata: { namespace?: string; name: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** Equal but for resourceVersion: such an update is no change (kube-apiserver does not write it either). */
function isSame(before: KubeObject, after: KubeObject): boolean {
  const bare = (object: KubeObject): string =>
    JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } });
  return before === after || canonical(JSON.parse(bare(before))) === canonical(JSON.parse(bare(after)));
}

/** JSON with sorted keys, for comparing. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
