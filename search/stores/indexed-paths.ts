// Which paths of which types are kept as terms, so that an index answers field selectors on them. Rows that were
// written with another list lack the terms, so a store with another list is built anew.
import { typeKey, type ResourceType, type TypeKey } from '../types.ts';

/** Keys divided by dots; `[]` after a key stands for each element of its list. */
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

/** Paths whose values are kept as terms of this type's rows. */
export function indexedPaths(type: ResourceType): readonly IndexedPath[] {
  return byType.get(typeKey(type)) ?? [];
}

/** All of them by type. */
export function allIndexedPaths(): readonly (readonly [TypeKey, readonly IndexedPath[]])[] {
  return [...byType];
}
