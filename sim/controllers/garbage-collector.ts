// Deletes or orphans the dependents of a deleted object, as the propagation policy of the deletion says. When the owner
// is gone, a dependent that has another owner, too, is kept, and only its reference to the deleted owner is removed.
import type { Cluster } from '../call/cluster.ts';
import { startDeletion, finishDeletion } from '../api/delete.ts';
import type { Resource } from '../store/resources.ts';
import type { StoreEvent } from '../store/store.ts';
import type { KubeObject } from '../model/types.ts';

/** Where an object is stored: storage key, namespace and name. */
type Position = readonly [string, string, string];

/** Starts the garbage collector for all objects of a cluster. */
export function startGarbageCollector(cluster: Cluster): void {
  const collector = new GarbageCollector(cluster);
  const { store, registry } = cluster;
  for (const key of new Set(registry.all().map((resource) => resource.key)))
    for (const object of store.list(key)) collector.index(key, object, false);
  store.subscribe('*', (event) => collector.follow(event));
}

class GarbageCollector {
  readonly #cluster: Cluster;
  /** Where the dependents of each owner are stored, by the uid of the owner. */
  readonly #dependents = new Map<string, Map<string, Position>>();
  /** The tasks that the next #flush() runs, by id. A task that is added twice before that runs once. */
  readonly #waiting = new Map<string, () => void>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Adds an object to the dependents of its owners; removes it when `isGone` is true. */
  index(key: string, object: KubeObject, isGone: boolean): void {
    const { namespace = '', name } = object.metadata;
    for (const owner of object.metadata.ownerReferences ?? []) {
      let entries = this.#dependents.get(owner.uid);
      if (entries === undefined) this.#dependents.set(owner.uid, (entries = new Map()));
      if (isGone) entries.delete(`${key} ${namespace}/${name}`);
      else entries.set(`${key} ${namespace}/${name}`, [key, namespace, name]);
      if (entries.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  follow({ type, key, object, previous }: StoreEvent): void {
    if (previous !== undefined) this.index(key, previous, true);
    if (type !== 'DELETED') this.index(key, object, false);
    const { uid } = object.metadata;
    if (type === 'DELETED') {
      this.#later(`gone ${uid}`, () => this.#collect(uid));
      for (const { uid: owner } of object.metadata.ownerReferences ?? []) this.#recheck(owner, object);
    } else if (object.metadata.deletionTimestamp !== undefined)
      this.#later(`process ${uid}`, () => this.#process(key, object));
  }

  #later(id: string, run: () => void): void {
    if (this.#waiting.size === 0) this.#cluster.timers.after(2, () => this.#flush());
    this.#waiting.set(id, run);
  }

  #flush(): void {
    const jobs = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const job of jobs) job();
  }

  #resourceOf(key: string): Resource | undefined {
    const slash = key.indexOf('/');
    return this.#cluster.registry.findPlural(key.slice(0, slash), key.slice(slash + 1));
  }

  #dependentsOf(uid: string): (readonly [string, KubeObject])[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])].flatMap(([key, namespace, name]) => {
      const object = this.#cluster.store.get(key, namespace, name);
      const isStill = object?.metadata.ownerReferences?.some((owner) => owner.uid === uid);
      return object !== undefined && isStill === true ? [[key, object] as const] : [];
    });
  }

  #dropReference(key: string, object: KubeObject, uid: string): void {
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
    const metadata = { ...object.metadata, ownerReferences };
    if (ownerReferences.length === 0) delete (metadata as Partial<typeof metadata>).ownerReferences;
    this.#cluster.store.replace(key, { ...object, metadata });
  }

  #dropFinalizer(key: string, object: KubeObject, finalizer: string): void {
    const { store } = this.#cluster;
    const { namespace = '', name } = object.metadata;
    const current = store.get(key, namespace, name);
    const resource = this.#resourceOf(key);
    if (current === undefined || resource === undefined) return;
    const finalizers = (current.metadata.finalizers ?? []).filter((entry) => entry !== finalizer);
    const metadata = { ...current.metadata, finalizers };
    if (finalizers.length === 0) delete (metadata as Partial<typeof metadata>).finalizers;
    finishDeletion(this.#cluster, resource, store.replace(key, { ...current, metadata }));
  }

  /** Deletes the dependents of an owner that was removed. A dependent with another owner only loses the reference. */
  #collect(uid: string): void {
    for (const [key, object] of this.#dependentsOf(uid)) {
      const isShared = (object.metadata.ownerReferences ?? []).some((owner) => owner.uid !== uid);
      const resource = this.#resourceOf(key);
      if (isShared) this.#dropReference(key, object, uid);
      else if (resource !== undefined)
        startDeletion(this.#cluster, resource, object, { propagationPolicy: 'Background' });
    }
  }

  /**
   * Handles an owner that is being deleted. With the finalizer `orphan`, its dependents lose the reference to it; with
   * `foregroundDeletion`, they are deleted. When this is done, the finalizer is removed.
   */
  #process(key: string, object: KubeObject): void {
    const { uid, finalizers = [] } = object.metadata;
    if (finalizers.includes('orphan')) {
      for (const [dependentKey, dependent] of this.#dependentsOf(uid))
        this.#dropReference(dependentKey, dependent, uid);
      this.#dropFinalizer(key, object, 'orphan');
    } else if (finalizers.includes('foregroundDeletion')) {
      for (const [dependentKey, dependent] of this.#dependentsOf(uid)) {
        const resource = this.#resourceOf(dependentKey);
        if (resource !== undefined && dependent.metadata.deletionTimestamp === undefined)
          startDeletion(this.#cluster, resource, dependent, { propagationPolicy: 'Foreground' });
      }
      if (this.#dependentsOf(uid).length === 0) this.#dropFinalizer(key, object, 'foregroundDeletion');
    }
  }

  /**
   * Called when a dependent was removed. If the owner is being deleted, calls #process() for it again, because its
   * `foregroundDeletion` may have waited for this dependent.
   */
  #recheck(ownerUid: string, dependent: KubeObject): void {
    const { store, registry } = this.#cluster;
    for (const reference of dependent.metadata.ownerReferences ?? []) {
      if (reference.uid !== ownerUid) continue;
      const slash = reference.apiVersion.indexOf('/');
      const group = slash < 0 ? '' : reference.apiVersion.slice(0, slash);
      const resource = registry.all().find((entry) => entry.kind === reference.kind && entry.group === group);
      if (resource === undefined) continue;
      const namespace = resource.namespaced ? (dependent.metadata.namespace ?? '') : '';
      const owner = store.get(resource.key, namespace, reference.name);
      if (owner?.metadata.deletionTimestamp !== undefined)
        this.#later(`process ${ownerUid}`, () => this.#process(resource.key, owner));
    }
  }
}
