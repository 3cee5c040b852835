// Table columns of the core group except pods, services and endpoints. The DATA column of a ConfigMap counts the keys
// of data and binaryData.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { age, ageColumn, integer, labelText, nameColumn, text, wide } from './cells.ts';

const size = (value: unknown): number => Object.keys((value ?? {}) as object).length;

function nodeStatus(node: KubeObject): string {
  const ready = ((node['status']?.conditions ?? []) as JsonObject[]).find((condition) => condition['type'] === 'Ready');
  const parts = [ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady'];
  if (node['spec']?.unschedulable === true) parts.push('SchedulingDisabled');
  return parts.join(',');
}

function nodeRoles(node: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(prefix)) return key.length > prefix.length ? [key.slice(prefix.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return roles.length === 0 ? '<none>' : [...new Set(roles)].sort().join(',');
}

function nodeAddress(node: KubeObject, type: string): string {
  const found = ((node['status']?.addresses ?? []) as JsonObject[]).find((address) => address['type'] === type);
  return found?.['address'] ?? '<none>';
}

const nodeInfo = (node: KubeObject, field: string): string => node['status']?.nodeInfo?.[field] || '<unknown>';

function accessModes(modes: readonly string[] | undefined): string {
  const short: Record<string, string> = {
    ReadWriteOnce: 'RWO',
    ReadOnlyMany: 'ROX',
    ReadWriteMany: 'RWX',
    ReadWriteOncePod: 'RWOP',
  };
  return (modes ?? []).map((mode) => short[mode] ?? mode).join(',');
}

const firstSeen = (event: KubeObject): string =>
  event['firstTimestamp'] || event['deprecatedFirstTimestamp'] || event['eventTime'];
const lastSeen = (event: KubeObject): string =>
  event['series']?.lastObservedTime || event['lastTimestamp'] || event['deprecatedLastTimestamp'] || firstSeen(event);

function eventObject(event: KubeObject): string {
  const { kind = '', name = '' } = event['involvedObject'] ?? event['regarding'] ?? {};
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function eventSource(event: KubeObject): string {
  const { component, host } = event['source'] ?? event['deprecatedSource'] ?? {};
  const parts = [
    component || event['reportingComponent'] || event['reportingController'] || '',
    host || event['reportingInstance'] || '',
  ];
  return parts[1] === '' ? parts[0] : parts.join(', ');
}

function claimTable(): readonly Column[] {
  return [
    nameColumn,
    text('Status', (claim) =>
      claim.metadata.deletionTimestamp === undefined ? claim['status']?.phase : 'Terminating',
    ),
    text('Volume', (claim) => claim['spec']?.volumeName),
    text('Capacity', (claim) => (claim['spec']?.volumeName ? claim['status']?.capacity?.storage : '')),
    text('Access Modes', (claim) => (claim['spec']?.volumeName ? accessModes(claim['status']?.accessModes) : '')),
    text('StorageClass', (claim) => claim['spec']?.storageClassName),
    text('VolumeAttributesClass', (claim) => claim['spec']?.volumeAttributesClassName ?? '<unset>'),
    ageColumn,
    wide('VolumeMode', (claim) => claim['spec']?.volumeMode ?? '<unset>'),
  ];
}

function volumeTable(): readonly Column[] {
  const claimOf = (volume: KubeObject): string => {
    const claim = volume['spec']?.claimRef;
    return claim === undefined ? '' : `${claim.namespace}/${claim.name}`;
  };
  return [
    nameColumn,
    text('Capacity', (volume) => volume['spec']?.capacity?.storage),
    text('Access Modes', (volume) => accessModes(volume['spec']?.accessModes)),
    text('Reclaim Policy', (volume) => volume['spec']?.persistentVolumeReclaimPolicy),
    text('Status', (volume) =>
      volume.metadata.deletionTimestamp === undefined ? volume['status']?.phase : 'Terminating',
    ),
    text('Claim', claimOf),
    text('StorageClass', (volume) => volume['spec']?.storageClassName),
    text('VolumeAttributesClass', (volume) => volume['spec']?.volumeAttributesClassName ?? '<unset>'),
    text('Reason', (volume) => volume['status']?.reason),
    ageColumn,
    wide('VolumeMode', (volume) => volume['spec']?.volumeMode ?? '<unset>'),
  ];
}

function quotaText(quota: KubeObject, isLimit: boolean): string {
  const hard: Record<string, string> = quota['status']?.hard ?? quota['spec']?.hard ?? {};
  const used: Record<string, string> = quota['status']?.used ?? {};
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits.') === isLimit)
    .sort()
    .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
    .join(', ');
}

/** The table columns of each resource, by storage key such as `/nodes`. */
export const coreColumns: Readonly<Record<string, readonly Column[]>> = {
  '/namespaces': [nameColumn, text('Status', (object) => object['status']?.phase), ageColumn],
  '/configmaps': [nameColumn, text('Data', (object) => size(object['data']) + size(object['binaryData'])), ageColumn],
  '/secrets': [
    nameColumn,
    text('Type', (object) => object['type']),
    text('Data', (object) => size(object['data'])),
    ageColumn,
  ],
  '/serviceaccounts': [nameColumn, ageColumn],
  '/persistentvolumeclaims': claimTable(),
  '/persistentvolumes': volumeTable(),
  '/resourcequotas': [
    nameColumn,
    text('Request', (object) => quotaText(object, false)),
    text('Limit', (object) => quotaText(object, true)),
    ageColumn,
  ],
  '/podtemplates': [
    nameColumn,
    text('Containers', (object) =>
      (object['template']?.spec?.containers ?? []).map((c: JsonObject) => c['name']).join(','),
    ),
    text('Images', (object) =>
      (object['template']?.spec?.containers ?? []).map((c: JsonObject) => c['image']).join(','),
    ),
    text('Pod Labels', (object) => labelText(object['template']?.metadata?.labels)),
  ],
  '/nodes': [
    nameColumn,
    text('Status', nodeStatus),
    text('Roles', nodeRoles),
    ageColumn,
    text('Version', (node) => node['status']?.nodeInfo?.kubeletVersion),
    wide('Internal-IP', (node) => nodeAddress(node, 'InternalIP')),
    wide('External-IP', (node) => nodeAddress(node, 'ExternalIP')),
    wide('OS-Image', (node) => nodeInfo(node, 'osImage')),
    wide('Kernel-Version', (node) => {
      const architecture: string = node['status']?.nodeInfo?.architecture ?? '';
      return nodeInfo(node, 'kernelVersion') + (architecture === '' ? '' : ` (${architecture})`);
    }),
    wide('Container-Runtime', (node) => nodeInfo(node, 'containerRuntimeVersion')),
  ],
  '/events': [
    text('Last Seen', (event, now) => age(lastSeen(event), now)),
    text('Type', (event) => event['type']),
    text('Reason', (event) => event['reason']),
    text('Object', eventObject),
    wide('Subobject', (event) => (event['involvedObject'] ?? event['regarding'])?.fieldPath),
    wide('Source', eventSource),
    text('Message', (event) => String(event['message'] ?? event['note'] ?? '').trim()),
    wide('First Seen', (event, now) => age(firstSeen(event), now)),
    wide('Count', (event) => event['series']?.count ?? (event['count'] || event['deprecatedCount'] || 1)),
    { name: 'Name', format: 'name', priority: 1, cell: (event) => event.metadata.name },
  ],
  'scheduling.k8s.io/priorityclasses': [
    nameColumn,
    integer('Value', (object) => object['value'] ?? 0),
    { name: 'Global-Default', type: 'boolean', cell: (object) => object['globalDefault'] ?? false },
    ageColumn,
    text('PreemptionPolicy', (object) => object['preemptionPolicy'] ?? 'PreemptLowerPriority'),
  ],
};
