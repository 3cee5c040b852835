// The objects of an API server in memory, as the ObjectTracker of client-go's fake clients keeps them: each write gets
// the next resourceVersion of all, an object without finalizers goes at once with what it owns, and a watch from a
// version gets every event after it, unless the events were compacted.
import type { ApiObject } from '../../kube/types.ts';

type Json = Record<string, any>;

/** One change, as a watch tells it. */
export interface TrackedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

interface Watch {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly send: (event: TrackedEvent) => void;
}

/** Where an object is. */
export interface ObjectKey {
  /** `resource.group`, such as `deployments.apps`; only `resource` in the core group. */
  readonly collection: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export class ObjectTracker {
  readonly #objects = new Map<string, Json>();
  readonly #watches = new Set<Watch>();
  #events: { readonly key: string; readonly event: TrackedEvent }[] = [];
  #version = 100;
  #oldest = 0;

  /** The resourceVersion of the last change. */
  get version(): string {
    return String(this.#version);
  }

  get(key: ObjectKey): Json | undefined {
    return this.#objects.get(textOf(key));
  }

  list(collection: string, namespace?: string): ApiObject[] {
    const found = [...this.#objects].filter(([key, object]) => isIn({ collection, namespace }, key, object));
    return found.map(([, object]) => object as ApiObject);
  }

  /** Creates the object, or puts it in the place of the present one, which leaves it UID and generation. */
  apply(collection: string, object: Json): ApiObject {
    const { namespace, name } = object['metadata'];
    const key = textOf({ collection, namespace, name });
    const old = this.#objects.get(key);
    this.#version += 1;
    const isChanged = JSON.stringify(old?.['spec']) !== JSON.stringify(object['spec']);
    const metadata = {
      creationTimestamp: new Date(1_700_000_000_000 + this.#version * 1000).toISOString(),
      uid: `uid-${this.#version}`,
      ...old?.['metadata'],
      ...object['metadata'],
      generation: (old?.['metadata'].generation ?? 0) + (isChanged ? 1 : 0),
      resourceVersion: this.version,
    };
    const stored = JSON.parse(JSON.stringify({ ...object, metadata })) as Json;
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) this.#drop(key, stored);
    else {
      this.#objects.set(key, stored);
      this.#emit(key, old === undefined ? 'ADDED' : 'MODIFIED', stored);
    }
    return stored as ApiObject;
  }

  /** Deletes an object and what only it owns; one with finalizers only begins to go. */
  delete(key: ObjectKey): void {
    this.#delete(textOf(key));
  }

  /**
   * Sends the events after a resourceVersion, and those to come, until it is called.
   * @returns undefined when events since then were compacted
   */
  watch(collection: string, namespace: string | undefined, since: number, send: Watch['send']) {
    if (since < this.#oldest) return undefined;
    const watch = { collection, namespace, send };
    for (const { key, event } of this.#events) {
      if (Number(event.object.metadata.resourceVersion) > since && isIn(watch, key, event.object)) send(event);
    }
    this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  /** Drops all past events, as etcd's compaction does: a watch from an older version is refused. */
  compact(): void {
    this.#events = [];
    this.#version += 1;
    this.#oldest = this.#version;
  }

  /** Sets the resourceVersion back and keeps the objects, as when etcd was restored from a backup. */
  rewind(version: number): void {
    this.#version = version;
    this.#oldest = 0;
    this.#events = [];
    for (const object of this.#objects.values()) object['metadata'].resourceVersion = this.version;
  }

  #delete(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    const metadata = { ...old['metadata'], deletionTimestamp: 'now' };
    if ((metadata.finalizers ?? []).length === 0) this.#drop(key, old);
    else if (old['metadata'].deletionTimestamp === undefined) this.apply(key.split(' ')[0]!, { ...old, metadata });
  }

  #drop(key: string, object: Json): void {
    this.#version += 1;
    this.#objects.delete(key);
    this.#emit(key, 'DELETED', { ...object, metadata: { ...object['metadata'], resourceVersion: this.version } });
    const uids = new Set([...this.#objects.values()].map(({ metadata }) => metadata.uid));
    for (const [other, { metadata }] of this.#objects) {
      const owners = (metadata.ownerReferences ?? []) as Json[];
      if (owners.length > 0 && owners.every(({ uid }) => !uids.has(uid))) this.#delete(other);
    }
  }

  #emit(key: string, type: TrackedEvent['type'], object: Json): void {
    const event = { type, object: object as ApiObject };
    this.#events.push({ key, event });
    for (const watch of this.#watches) if (isIn(watch, key, object)) watch.send(event);
  }
}

function textOf({ collection, namespace, name }: ObjectKey): string {
  return `${collection} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function isIn(of: Omit<Watch, 'send'>, key: string, object: Json): boolean {
  const isNamespace = of.namespace === undefined || object['metadata'].namespace === of.namespace;
  return isNamespace && key.startsWith(`${of.collection} `);
}
