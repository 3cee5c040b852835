// What the server fills in when an object is written: generation, defaults of the kind, first status. Clients may
// send a status with a create; for kinds that have a status subresource it is dropped.
import type { Cluster } from '../cluster.ts';
import type { Resource } from '../store/resources.ts';
import type { KubeObject } from '../types.ts';
import { fillSchemaDefaults } from './custom.ts';
import { messageOf, skeleton } from '../schema/skeleton.ts';
import { admitterOf, defaultersOf } from './kinds.ts';

/** Kinds with a generation besides those that have a status subresource and a spec. */
const withoutGeneration = new Set([
  '/services',
  '/nodes',
  '/namespaces',
  '/persistentvolumeclaims',
  '/persistentvolumes',
  '/resourcequotas',
  '/replicationcontrollers',
]);

/** A new object as it will be stored. Changes and returns `object`. */
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

/** A changed object as it will be stored. Changes and returns `next`. */
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

/** What admission adds to a new object; no field manager owns it. */
export function admit(cluster: Cluster, resource: Resource, object: KubeObject): void {
  admitterOf(resource)?.(object, cluster);
}

function fillCustom(cluster: Cluster, resource: Resource, object: KubeObject): void {
  const { schemas } = cluster.registry;
  if (resource.definition !== undefined) fillSchemaDefaults(schemas, schemas[resource.schemaName ?? ''], object);
}
