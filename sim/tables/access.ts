// Table columns of RBAC objects, leases, storage classes and CustomResourceDefinitions. Roles show their creation time
// instead of their age.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { ageColumn, integer, nameColumn, text, wide } from './cells.ts';

const createdAt: Column = { name: 'Created At', type: 'date', cell: (object) => object.metadata.creationTimestamp };

function subjects(kind: string): Column['cell'] {
  return (binding: KubeObject) =>
    ((binding['subjects'] ?? []) as JsonObject[])
      .filter((subject) => subject['kind'] === kind)
      .map((subject) =>
        kind === 'ServiceAccount' ? `${subject['namespace'] ?? ''}/${subject['name']}` : subject['name'],
      )
      .join(', ');
}

const bindings: readonly Column[] = [
  nameColumn,
  text('Role', (binding) => `${binding['roleRef']?.kind}/${binding['roleRef']?.name}`),
  ageColumn,
  wide('Users', subjects('User')),
  wide('Groups', subjects('Group')),
  wide('ServiceAccounts', subjects('ServiceAccount')),
];

const flag = (name: string, cell: Column['cell']): Column => ({ name, type: 'boolean', cell });

const isDefault = (object: KubeObject): boolean =>
  object.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true';

/** The table columns of each resource, by storage key such as `coordination.k8s.io/leases`. */
export const accessColumns: Readonly<Record<string, readonly Column[]>> = {
  'rbac.authorization.k8s.io/roles': [nameColumn, createdAt],
  'rbac.authorization.k8s.io/clusterroles': [nameColumn, createdAt],
  'rbac.authorization.k8s.io/rolebindings': bindings,
  'rbac.authorization.k8s.io/clusterrolebindings': bindings,
  'coordination.k8s.io/leases': [nameColumn, text('Holder', (lease) => lease['spec']?.holderIdentity), ageColumn],
  'storage.k8s.io/storageclasses': [
    { ...nameColumn, cell: (object) => object.metadata.name + (isDefault(object) ? ' (default)' : '') },
    text('Provisioner', (object) => object['provisioner']),
    text('ReclaimPolicy', (object) => object['reclaimPolicy'] ?? 'Delete'),
    text('VolumeBindingMode', (object) => object['volumeBindingMode'] ?? 'Immediate'),
    text('AllowVolumeExpansion', (object) => object['allowVolumeExpansion'] ?? false),
    ageColumn,
  ],
  'storage.k8s.io/csinodes': [
    nameColumn,
    integer('Drivers', (object) => (object['spec']?.drivers ?? []).length),
    ageColumn,
  ],
  'storage.k8s.io/csidrivers': [
    nameColumn,
    flag('AttachRequired', (object) => object['spec']?.attachRequired ?? true),
    flag('PodInfoOnMount', (object) => object['spec']?.podInfoOnMount ?? false),
    flag('StorageCapacity', (object) => object['spec']?.storageCapacity ?? false),
    text(
      'TokenRequests',
      (object) =>
        (object['spec']?.tokenRequests ?? []).map((request: JsonObject) => request['audience']).join(',') || '<unset>',
    ),
    flag('RequiresRepublish', (object) => object['spec']?.requiresRepublish ?? false),
    text('Modes', (object) => (object['spec']?.volumeLifecycleModes ?? []).join(',') || '<none>'),
    ageColumn,
  ],
  'storage.k8s.io/volumeattributesclasses': [
    nameColumn,
    text('DriverName', (object) => object['driverName']),
    ageColumn,
  ],
  'networking.k8s.io/ipaddresses': [
    nameColumn,
    text('ParentRef', (object) => {
      const { group = '', resource = '', namespace = '', name = '' } = object['spec']?.parentRef ?? {};
      const where = group === '' ? resource : `${resource}.${group}`;
      return `${where}/${namespace === '' ? '' : `${namespace}/`}${name}`;
    }),
  ],
  'networking.k8s.io/servicecidrs': [
    nameColumn,
    text('CIDRs', (object) => (object['spec']?.cidrs ?? []).join(',')),
    ageColumn,
  ],
  'apiextensions.k8s.io/customresourcedefinitions': [nameColumn, createdAt],
};
