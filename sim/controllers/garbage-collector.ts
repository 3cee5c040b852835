// The garbage collector: dependents follow their owners, by the propagation the deletion asked for. An object with
// another living owner stays and only loses the reference.
import type { Cluster } from '../cluster.ts';
import { startDeletion, finishDeletion } from '../api/delete.ts';
import type { Resource } from '../store/resources.ts';
import type { KubeObject } from '../types.ts';

/** Starts collecting. */
export function startGarbageCollector(cluster: Cluster): void {
  const { store, registry, timers } = cluster;
  /** Dependents by uid of their owner: storage key, namespace, name. */
  const dependents = new Map<string, Map<string, readonly [string, string, string]>>();
  const waiting = new Map<string, () => void>();

  const later = (id: string, run: () => void): void => {
    if (waiting.size === 0) timers.after(2, flush);
    waiting.set(id, run);
  };
  const flush = (): void => {
    const jobs = [...waiting.values()];
    waiting.clear();
    for (const job of jobs) job();
  };
  const resourceOf = (key: string): Resource | undefined => {
    const slash = key.indexOf('/');
    return registry.findPlural(key.slice(0, slash), key.slice(slash + 1));
  };
  const index = (key: string, object: KubeObject, isGone: boolean): void => {
    const { namespace = '', name } = object.metadata;
    for (const owner of object.metadata.ownerReferences ?? []) {
      let entries = dependents.get(owner.uid);
      if (entries === undefined) dependents.set(owner.uid, (entries = new Map()));
      if (isGone) entries.delete(`${key} ${namespace}/${name}`);
      else entries.set(`${key} ${namespace}/${name}`, [key, namespace, name]);
      if (entries.size === 0) dependents.delete(owner.uid);
    }
  };
  const dependentsOf = (uid: string): (readonly [string, KubeObject])[] =>
    [...(dependents.get(uid)?.values() ?? [])].flatMap(([key, namespace, name]) => {
      const object = store.get(key, namespace, name);
      const isStill = object?.metadata.ownerReferences?.some((owner) => owner.uid === uid);
      return object !== undefined && isStill === true ? [[key, object] as const] : [];
    });
  const dropReference = (key: string, object: KubeObject, uid: string): void => {
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
    const metadata = { ...object.metadata, ownerReferences };
    if (ownerReferences.length === 0) delete (metadata as Partial<typeof metadata>).ownerReferences;
    store.replace(key, { ...object, metadata });
  };
  const dropFinalizer = (key: string, object: KubeObject, finalizer: string): void => {
    const { namespace = '', name } = object.metadata;
    const current = store.get(key, namespace, name);
    const resource = resourceOf(key);
    if (current === undefined || resource === undefined) return;
    const finalizers = (current.metadata.finalizers ?? []).filter((entry) => entry !== finalizer);
    const metadata = { ...current.metadata, finalizers };
    if (finalizers.length === 0) delete (metadata as Partial<typeof metadata>).finalizers;
    finishDeletion(cluster, resource, store.replace(key, { ...current, metadata }));
  };
  const collect = (uid: string): void => {
    for (const [key, object] of dependentsOf(uid)) {
      const isShared = (object.metadata.ownerReferences ?? []).some((owner) => owner.uid !== uid);
      const resource = resourceOf(key);
      if (isShared) dropReference(key, object, uid);
      else if (resource !== undefined) startDeletion(cluster, resource, object, { propagationPolicy: 'Background' });
    }
  };
  const process = (key: string, object: KubeObject): void => {
    const { uid, finalizers = [] } = object.metadata;
    if (finalizers.includes('orphan')) {
      for (const [dependentKey, dependent] of dependentsOf(uid)) dropReference(dependentKey, dependent, uid);
      dropFinalizer(key, object, 'orphan');
    } else if (finalizers.includes('foregroundDeletion')) {
      const blocking = dependentsOf(uid);
      for (const [dependentKey, dependent] of blocking) {
        const resource = resourceOf(dependentKey);
        if (resource !== undefined && dependent.metadata.deletionTimestamp === undefined)
          startDeletion(cluster, resource, dependent, { propagationPolicy: 'Foreground' });
      }
      if (dependentsOf(uid).length === 0) dropFinalizer(key, object, 'foregroundDeletion');
    }
  };

  for (const key of new Set(registry.all().map((resource) => resource.key)))
    for (const object of store.list(key)) index(key, object, false);
  store.subscribe('*', ({ type, key, object, previous }) => {
    if (previous !== undefined) index(key, previous, true);
    if (type !== 'DELETED') index(key, object, false);
    const { uid } = object.metadata;
    if (type === 'DELETED') {
      later(`gone ${uid}`, () => collect(uid));
      for (const { uid: owner } of object.metadata.ownerReferences ?? []) recheck(owner, object);
    } else if (object.metadata.deletionTimestamp !== undefined) later(`process ${uid}`, () => process(key, object));
  });
  /** A dependent went away: its owner may be waiting for that. */
  const recheck = (ownerUid: string, dependent: KubeObject): void => {
    for (const reference of dependent.metadata.ownerReferences ?? []) {
      if (reference.uid !== ownerUid) continue;
      const slash = reference.apiVersion.indexOf('/');
      const group = slash < 0 ? '' : reference.apiVersion.slice(0, slash);
      const resource = registry.all().find((entry) => entry.kind === reference.kind && entry.group === group);
      if (resource === undefined) continue;
      const namespace = resource.namespaced ? (dependent.metadata.namespace ?? '') : '';
      const owner = store.get(resource.key, namespace, reference.name);
      if (owner?.metadata.deletionTimestamp !== undefined)
        later(`process ${ownerUid}`, () => process(resource.key, owner));
    }
  };
}
