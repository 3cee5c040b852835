// What every member holds from the start: the gateway's one right, and users with different rights. The built-in `view`
// and `edit` are empty until a controller manager has aggregated them, so the roles here list their rules.
import { gatewayUser, kubeletNode, kwokNode } from './fixture-types.ts';

/** Users of every member beside admin and the gateway. */
export const users = {
  alice: { uid: 'uid-alice', groups: ['team-a', 'developers'] },
  bob: { uid: 'uid-bob', groups: ['developers'] },
  carol: { uid: 'uid-carol', groups: ['operators'] },
} as const;

const rbac = 'rbac.authorization.k8s.io/v1';
const read = ['get', 'list', 'watch'];
const write = ['create', 'delete', 'deletecollection', 'patch', 'update'];

const coreObjects = [
  'configmaps',
  'endpoints',
  'events',
  'limitranges',
  'persistentvolumeclaims',
  'pods',
  'pods/log',
  'pods/status',
  'replicationcontrollers',
  'resourcequotas',
  'serviceaccounts',
  'services',
];
const appObjects = [
  'daemonsets',
  'deployments',
  'deployments/scale',
  'replicasets',
  'replicasets/scale',
  'statefulsets',
];
const otherGroups = ['autoscaling', 'batch', 'discovery.k8s.io', 'networking.k8s.io', 'policy'];

function role(name: string, rules: readonly object[]): object {
  return { apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules };
}

function binding(name: string, roleName: string, user: string, namespace?: string): object {
  return {
    apiVersion: rbac,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: namespace === undefined ? { name } : { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  };
}

/** Namespace, roles and bindings, in the order in which they must be made. */
export function accessObjects(): readonly object[] {
  const streams = ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy'];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a', labels: { team: 'a' } } },
    role('portcullis-impersonate', [
      { apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'], verbs: ['impersonate'] },
      // Not `userextras/*`: RBAC knows no such wildcard, and extras have keys that nobody can list beforehand.
      { apiGroups: ['authentication.k8s.io'], resources: ['*'], verbs: ['impersonate'] },
    ]),
    role('test-view', [
      { apiGroups: [''], resources: [...coreObjects, 'namespaces'], verbs: read },
      { apiGroups: ['apps'], resources: appObjects, verbs: read },
      { apiGroups: otherGroups, resources: ['*'], verbs: read },
    ]),
    role('test-edit', [
      { apiGroups: [''], resources: [...coreObjects, 'secrets'], verbs: [...read, ...write] },
      { apiGroups: [''], resources: streams, verbs: ['get', 'create', 'delete', 'patch', 'update'] },
      { apiGroups: [''], resources: ['pods/ephemeralcontainers'], verbs: ['get', 'patch', 'update'] },
      { apiGroups: [''], resources: ['pods/eviction', 'serviceaccounts/token'], verbs: ['create'] },
      { apiGroups: ['apps'], resources: [...appObjects, 'statefulsets/scale'], verbs: [...read, ...write] },
      { apiGroups: otherGroups, resources: ['*'], verbs: [...read, ...write] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...read, ...write] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: [...read, ...write] },
    ]),
    binding('portcullis-gateway', 'portcullis-impersonate', gatewayUser),
    binding('alice-view', 'test-view', 'alice'),
    binding('alice-edit', 'test-edit', 'alice', 'team-a'),
    binding('carol-admin', 'cluster-admin', 'carol'),
  ];
}

/** The node that kwok plays; it only touches nodes with this annotation. */
export function kwokNodeObject(): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: kwokNode,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': kwokNode,
        'kubernetes.io/os': 'linux',
        type: 'kwok',
      },
    },
  };
}

/** Toleration and selector of a pod that wants the kubelet stand-in through the scheduler. */
export const kubeletPlacement = {
  nodeSelector: { 'kubernetes.io/hostname': kubeletNode },
  tolerations: [{ key: 'portcullis.test/kubelet', operator: 'Exists' }],
} as const;
