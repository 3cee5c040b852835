// Creates the objects that every namespace has, and empties deleted namespaces. A Namespace that is being deleted is
// removed only when no object is left in it.
import type { Cluster } from '../call/cluster.ts';
import { finishDeletion, startDeletion } from '../api/delete.ts';
import type { KubeObject } from '../model/types.ts';
import { createOwned, edit } from './objects.ts';

/** Creates the default objects of a namespace; when the Namespace is being deleted, deletes all objects in it. */
export function reconcileNamespace(cluster: Cluster, namespace: KubeObject): void {
  const { name, deletionTimestamp } = namespace.metadata;
  if (deletionTimestamp === undefined) {
    createOwned(cluster, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } });
    createOwned(cluster, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kube-root-ca.crt', namespace: name },
      data: { 'ca.crt': cluster.caPem() },
    });
    return;
  }
  const { registry, store } = cluster;
  let left = 0;
  const seen = new Set<string>();
  for (const resource of registry.all()) {
    if (!resource.namespaced || seen.has(resource.key)) continue;
    seen.add(resource.key);
    for (const object of store.list(resource.key, name)) {
      const isBegun = object.metadata.deletionTimestamp !== undefined;
      if (isBegun || !startDeletion(cluster, resource, object, { propagationPolicy: 'Background' }).isGone) left += 1;
    }
  }
  if (left > 0) return;
  const resource = registry.findPlural('', 'namespaces');
  const emptied = edit(cluster, '/namespaces', namespace, (next) => {
    next['spec'] = { ...next['spec'], finalizers: [] };
  });
  if (resource !== undefined && emptied !== undefined) finishDeletion(cluster, resource, emptied);
}
