// Fills in what the API server adds when an object is written: generation, defaults of its kind, and the initial
// status. If the kind has a status subresource, a status that a client sends with a create is dropped.
import type { Cluster } from '../call/cluster.ts';
import type { Resource } from '../store/resources.ts';
import type { KubeObject } from '../model/types.ts';
import { fillSchemaDefaults } from './custom.ts';
import { messageOf, skeleton } from '../schema/skeleton.ts';
import { admitterOf, defaultersOf } from './kinds.ts';

/** Kinds that have a status subresource and a spec, but no metadata.generation. */
const withoutGeneration = new Set([
  '/services',
  '/nodes',
  '/namespaces',
  '/persistentvolumeclaims',
  '/persistentvolumes',
  '/resourcequotas',
  '/replicationcontrollers',
]);

/** Sets generation, initial status and defaults of a new object before it is stored. Changes and returns `object`. */
export function createDefaults(cluster: Cluster, resource: Resource, object: KubeObject): KubeObject {
  if (resource.hasStatus) {
    delete object['status'];
    const empty: unknown = skeleton(cluster.messages, messageOf(resource.schemaName))['status'];
    if (empty !== undefined) object['status'] = empty;
  }
  const hasGeneration = object['spec'] !== undefined && resource.hasStatus && !withoutGeneration.has(resource.key);
  if (hasGeneration || resource.definition !== undefined) object.metadata.generation = 1;
  fillCustom(cluster, resource, object);
  for (const fill of defaultersOf(resource)) fill(object, cluster, undefined);
  return object;
}

/** Fills in the defaults of a changed object. Changes and returns `next`. */
export function updateDefaults(
  cluster: Cluster,
  resource: Resource,
  current: KubeObject,
  next: KubeObject,
): KubeObject {
  fillCustom(cluster, resource, next);
  for (const fill of defaultersOf(resource)) fill(next, cluster, current);
  return next;
}

/**
 * Adds what admission plugins of kube-apiserver add to a new object. Call it after managedFields were computed, since
 * no field manager owns these fields. Changes the object.
 */
export function admit(cluster: Cluster, resource: Resource, object: KubeObject): void {
  admitterOf(resource)?.(object, cluster);
}

function fillCustom(cluster: Cluster, resource: Resource, object: KubeObject): void {
  const { schemas } = cluster.registry;
  if (resource.definition !== undefined) fillSchemaDefaults(schemas, schemas[resource.schemaName ?? ''], object);
}
