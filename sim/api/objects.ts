// Lets tests and the demo read and write the objects of a simulated API server without HTTP and without authorization.
// Returned objects are the instances in the store, so callers must copy them before changing them.
import type { Cluster } from '../call/cluster.ts';
import { toStored } from '../wire/conversion.ts';
import { admit, createDefaults, updateDefaults } from '../defaults/defaults.ts';
import { startDeletion, type DeleteOptions } from './delete.ts';
import { parseApiVersion, type Resource } from '../store/resources.ts';
import { keptMetadata, setGeneration } from './write.ts';
import { copy, type JsonObject, type KubeObject } from '../model/types.ts';

/**
 * Access to the objects of one simulated API server. `kind` is a kind (`Pod`) or a plural name (`pods`,
 * `deployments.apps`).
 */
export interface SimObjects {
  /** The revision of the last change. */
  readonly revision: number;
  get(kind: string, namespace: string, name: string): KubeObject | undefined;
  /** The objects in a namespace. Without a namespace, the objects of all namespaces. */
  list(kind: string, namespace?: string): readonly KubeObject[];
  /**
   * Creates the object, or replaces the whole object of this kind and name. When the new object has no status, the old
   * status is kept.
   */
  apply(object: JsonObject): KubeObject;
  /** Changes an object: `change` gets a copy that it edits. Returns undefined when the object does not exist. */
  update(kind: string, namespace: string, name: string, change: (object: KubeObject) => void): KubeObject | undefined;
  /** Deletes an object as a client would, with its grace period. `{ gracePeriodSeconds: 0 }` deletes it at once. */
  remove(kind: string, namespace: string, name: string, options?: DeleteOptions): void;
  /** Calls the listener for every change of a kind. Returns a function that removes the listener. */
  subscribe(kind: string, listener: (type: string, object: KubeObject) => void): () => void;
  /** Drops the history of changes. Later watches and continue tokens from earlier revisions get 410. */
  compact(): void;
}

/** Makes the {@link SimObjects} of a simulated cluster. */
export function createObjects(cluster: Cluster): SimObjects {
  const { store, registry } = cluster;
  const resourceOf = (kind: string): Resource => {
    const [plural = '', ...group] = kind.split('.');
    const found = registry
      .all()
      .find(
        (entry) =>
          entry.kind === kind || (entry.plural === plural && (group.length === 0 || entry.group === group.join('.'))),
      );
    if (found === undefined) throw new Error(`the simulator has no kind ${kind}`);
    return found;
  };
  return {
    get revision() {
      return store.revision;
    },
    get: (kind, namespace, name) => store.get(resourceOf(kind).key, namespace, name),
    list: (kind, namespace) => store.list(resourceOf(kind).key, namespace),
    apply(object) {
      const { group, version } = parseApiVersion(object['apiVersion']);
      const resource = registry.findKind(group, version, object['kind']);
      if (resource === undefined) throw new Error(`the simulator has no ${object['apiVersion']} ${object['kind']}`);
      const next = toStored(resource, copy(object) as KubeObject);
      if (resource.namespaced) next.metadata.namespace ??= 'default';
      const { namespace = '', name } = next.metadata;
      const current = store.get(resource.key, namespace, name);
      const status: unknown = next['status'] ?? current?.['status'];
      if (current === undefined) {
        createDefaults(cluster, resource, next);
        admit(cluster, resource, next);
        if (status !== undefined) next['status'] = status;
        return store.insert(resource.key, next);
      }
      next.metadata = { ...keptMetadata(current, next), resourceVersion: '' };
      if (status !== undefined) next['status'] = status;
      updateDefaults(cluster, resource, current, next);
      admit(cluster, resource, next);
      setGeneration(resource, current, next);
      return store.replace(resource.key, next);
    },
    update(kind, namespace, name, change) {
      const { key } = resourceOf(kind);
      const current = store.get(key, namespace, name);
      if (current === undefined) return undefined;
      const next = copy(current);
      change(next);
      return store.replace(key, next);
    },
    remove(kind, namespace, name, options) {
      const resource = resourceOf(kind);
      const object = store.get(resource.key, namespace, name);
      if (object !== undefined) startDeletion(cluster, resource, object, options);
    },
    subscribe: (kind, listener) => store.subscribe(resourceOf(kind).key, (event) => listener(event.type, event.object)),
    compact: () => store.compact(),
  };
}
