// The storage of a simulated API server: all objects, a revision counter, and a limited history of changes for watches.
// Easy to get wrong: a stored object must never be changed, since the history and other callers have the same instance.
// To change an object, store a changed copy.
import { randomUUID } from 'node:crypto';
import { timestamp, type KubeObject } from '../model/types.ts';

/** One change of an object in the store. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The key of the resource in the store: `group/plural`, in the core group `/plural`. */
  readonly key: string;
  readonly object: KubeObject;
  /** The object before the change; undefined for ADDED. */
  readonly previous: KubeObject | undefined;
  /** The resourceVersion that the store assigned to the change; later changes have higher ones. */
  readonly revision: number;
}

/** An object to insert. The store adds uid, creationTimestamp and resourceVersion. */
export type NewObject = Omit<KubeObject, 'metadata'> & { metadata: Partial<KubeObject['metadata']> & { name: string } };

/** The key under which the objects of a resource are stored, such as `apps/deployments`. */
export function keyOf(resource: { readonly group: string; readonly plural: string }): string {
  return `${resource.group}/${resource.plural}`;
}

/**
 * The objects of a simulated API server by resource. It calls listeners for each change, and keeps the last changes.
 */
export class Store {
  readonly #now: () => Date;
  readonly #limit: number;
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #ordered = new Map<string, readonly KubeObject[]>();
  readonly #listeners = new Map<string, Set<(event: StoreEvent) => void>>();
  #history: StoreEvent[] = [];
  #revision = 1;
  #oldest = 1;

  /**
   * Makes an empty store. At least the last `historyLimit` changes of all resources together are kept; older ones are
   * dropped.
   */
  constructor(now: () => Date, historyLimit = 20_000) {
    this.#now = now;
    this.#limit = historyLimit;
  }

  /** The revision of the last change. */
  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision from which a watch can start: later changes are kept, changes up to it are not. */
  get oldest(): number {
    return this.#oldest;
  }

  get(key: string, namespace: string, name: string): KubeObject | undefined {
    return this.#tables.get(key)?.get(`${namespace}/${name}`);
  }

  /**
   * The objects sorted by namespace and name, as in etcd. The namespace '' means all namespaces. Callers must not
   * change the array.
   */
  list(key: string, namespace = ''): readonly KubeObject[] {
    let all = this.#ordered.get(key);
    if (all === undefined) {
      all = [...this.#table(key).entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
      this.#ordered.set(key, all);
    }
    return namespace === '' ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  /**
   * Inserts an object, and gives it uid, creationTimestamp and resourceVersion. The caller must have checked that there
   * is no object of this name.
   */
  insert(key: string, object: NewObject): KubeObject {
    const { uid, creationTimestamp } = object.metadata;
    const stored = this.#withRevision({
      ...object,
      metadata: {
        ...object.metadata,
        uid: uid ?? randomUUID(),
        creationTimestamp: creationTimestamp ?? timestamp(this.#now()),
      },
    });
    this.#table(key).set(pathOf(stored), stored);
    this.#publish({ type: 'ADDED', key, object: stored, previous: undefined, revision: this.#revision });
    return stored;
  }

  /**
   * Replaces an object. When it equals the present object except for resourceVersion, nothing is written, and the
   * present object is returned.
   */
  replace(key: string, object: KubeObject): KubeObject {
    const previous = this.#table(key).get(pathOf(object));
    if (previous !== undefined && isSame(previous, object)) return previous;
    const stored = this.#withRevision(object);
    this.#table(key).set(pathOf(stored), stored);
    this.#publish({ type: 'MODIFIED', key, object: stored, previous, revision: this.#revision });
    return stored;
  }

  /**
   * Removes an object and returns it with the resourceVersion of the deletion; undefined when there is no such object.
   */
  remove(key: string, namespace: string, name: string): KubeObject | undefined {
    const previous = this.#table(key).get(`${namespace}/${name}`);
    if (previous === undefined) return undefined;
    const last = this.#withRevision(previous);
    this.#table(key).delete(`${namespace}/${name}`);
    this.#publish({ type: 'DELETED', key, object: last, previous, revision: this.#revision });
    return last;
  }

  /** The changes of one resource after a revision; undefined when some of these changes were dropped. */
  since(key: string, after: number): readonly StoreEvent[] | undefined {
    if (after < this.#oldest) return undefined;
    let start = this.#history.length;
    while (start > 0 && (this.#history[start - 1]?.revision ?? 0) > after) start -= 1;
    return this.#history.slice(start).filter((event) => event.key === key);
  }

  /**
   * Calls the listener synchronously for each later change of one resource, or of all resources when `key` is `*`.
   * Returns a function that removes the listener.
   */
  subscribe(key: string, listener: (event: StoreEvent) => void): () => void {
    let set = this.#listeners.get(key);
    if (set === undefined) this.#listeners.set(key, (set = new Set()));
    set.add(listener);
    return () => set.delete(listener);
  }

  /**
   * Drops all past changes, as etcd's compaction does. Watches and continue tokens from earlier revisions then get 410.
   */
  compact(): void {
    this.#history = [];
    this.#oldest = this.#revision;
  }

  #table(key: string): Map<string, KubeObject> {
    let rows = this.#tables.get(key);
    if (rows === undefined) this.#tables.set(key, (rows = new Map()));
    return rows;
  }

  #publish(event: StoreEvent): void {
    this.#ordered.delete(event.key);
    this.#history.push(event);
    if (this.#history.length > this.#limit * 2) {
      this.#oldest = this.#history[this.#limit - 1]?.revision ?? this.#revision;
      this.#history = this.#history.slice(this.#limit);
    }
    for (const name of [event.key, '*'])
      for (const listener of Array.from(this.#listeners.get(name) ?? [])) listener(event);
  }

  #withRevision(object: KubeObject | NewObject): KubeObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } } as KubeObject;
  }
}

function pathOf(object: { metadata: { namespace?: string; name: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/**
 * Whether two objects are equal except for resourceVersion. An update to an equal object is not written, as in
 * kube-apiserver.
 */
function isSame(before: KubeObject, after: KubeObject): boolean {
  const bare = (object: KubeObject): string =>
    JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } });
  return before === after || canonical(JSON.parse(bare(before))) === canonical(JSON.parse(bare(after)));
}

/** JSON with sorted keys, for comparing values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
