// The paths of each type whose values are stored as terms, so that an index answers conditions on them. Rows that were
// written by a program with another list of paths lack some of these terms. So a store of one process is built again
// when the list has changed. In a store that several processes share, a path is used once all rows have its terms.
import { typeKey, type ResourceType, type TypeKey } from '../query/types.ts';
import { rowForm } from './row-form.ts';

/**
 * A path such as `spec.containers[].image`: keys separated by dots; `[]` after a key means every element of its list.
 */
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

/**
 * By type and path: the number of the row form (row-form.ts) with which the path became indexed. A path that is absent
 * here is indexed since form 1.
 */
const since: ReadonlyMap<`${TypeKey} ${IndexedPath}`, number> = new Map();

/**
 * The indexed paths of a type; empty for most types.
 * @param form oldest form of the rows in the store: only paths are returned that rows of this and of all newer forms
 *   have as terms
 */
export function indexedPaths(type: ResourceType, form = rowForm): readonly IndexedPath[] {
  const key = typeKey(type);
  const paths = byType.get(key) ?? [];
  return form >= rowForm ? paths : paths.filter((path) => (since.get(`${key} ${path}`) ?? 1) <= form);
}

/** The indexed paths of all types. */
export function allIndexedPaths(): readonly (readonly [TypeKey, readonly IndexedPath[]])[] {
  return [...byType];
}
