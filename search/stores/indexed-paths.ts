// The paths of each type whose values are stored as terms, so that an index answers conditions on them. Rows written
// with another list lack these terms, so a store that was written with another list is built again.
import { typeKey, type ResourceType, type TypeKey } from '../types.ts';

/** Keys separated by dots; `[]` after a key means every element of its list. */
export type IndexedPath = string;

const ofPods: readonly IndexedPath[] = [
  'status.phase',
  'spec.nodeName',
  'spec.serviceAccountName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.podIP',
  'status.nominatedNodeName',
  'spec.hostNetwork',
  'spec.containers[].image',
  'spec.containers[].name',
];

const ofWorkloads: readonly IndexedPath[] = [
  'spec.template.spec.containers[].image',
  'spec.template.spec.serviceAccountName',
];

const byType: ReadonlyMap<TypeKey, readonly IndexedPath[]> = new Map<TypeKey, readonly IndexedPath[]>([
  ['pods.', ofPods],
  ['secrets.', ['type']],
  ['services.', ['spec.type', 'spec.clusterIP']],
  ['nodes.', ['spec.unschedulable', 'spec.providerID']],
  ['namespaces.', ['status.phase']],
  ['persistentvolumes.', ['status.phase', 'spec.storageClassName']],
  ['persistentvolumeclaims.', ['status.phase', 'spec.storageClassName', 'spec.volumeName']],
  [
    'events.',
    ['involvedObject.kind', 'involvedObject.name', 'involvedObject.namespace', 'involvedObject.uid', 'reason', 'type'],
  ],
  ['jobs.batch', ['status.successful']],
  ['deployments.apps', ofWorkloads],
  ['statefulsets.apps', ofWorkloads],
  ['daemonsets.apps', ofWorkloads],
  ['rolebindings.rbac.authorization.k8s.io', ['roleRef.kind', 'roleRef.name', 'subjects[].kind', 'subjects[].name']],
  [
    'clusterrolebindings.rbac.authorization.k8s.io',
    ['roleRef.kind', 'roleRef.name', 'subjects[].kind', 'subjects[].name'],
  ],
  ['ingresses.networking.k8s.io', ['spec.ingressClassName', 'spec.rules[].host']],
]);

/** The indexed paths of a type; empty for most types. */
export function indexedPaths(type: ResourceType): readonly IndexedPath[] {
  return byType.get(typeKey(type)) ?? [];
}

/** The indexed paths of all types. */
export function allIndexedPaths(): readonly (readonly [TypeKey, readonly IndexedPath[]])[] {
  return [...byType];
}
