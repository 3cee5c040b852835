// What every member holds from the start: the gateway's one right, and users with different rights. The built-in `view`
// and `edit` are empty until a controller manager has aggregated them, so the roles here list their rules.
import { gatewayUser, kubeletNode, kwokNode } from './fixture-types.ts';
import { clusterRole, clusterRoleBinding, roleBinding, userSubject } from '../site/rbac.ts';

/** Users of every member beside admin and the gateway. */
export const users = {
  alice: { uid: 'uid-alice', groups: ['team-a', 'developers'] },
  bob: { uid: 'uid-bob', groups: ['developers'] },
  carol: { uid: 'uid-carol', groups: ['operators'] },
} as const;

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

/** Namespace, roles and bindings, in the order in which they must be made. */
export function accessObjects(): readonly object[] {
  const streams = ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy'];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a', labels: { team: 'a' } } },
    clusterRole('portcullis-impersonate', [
      { apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'], verbs: ['impersonate'] },
      // Not `userextras/*`: RBAC knows no such wildcard, and extras have keys that nobody can list beforehand.
      { apiGroups: ['authentication.k8s.io'], resources: ['*'], verbs: ['impersonate'] },
    ]),
    clusterRole('test-view', [
      { apiGroups: [''], resources: [...coreObjects, 'namespaces'], verbs: read },
      { apiGroups: ['apps'], resources: appObjects, verbs: read },
      { apiGroups: otherGroups, resources: ['*'], verbs: read },
    ]),
    clusterRole('test-edit', [
      { apiGroups: [''], resources: [...coreObjects, 'secrets'], verbs: [...read, ...write] },
      { apiGroups: [''], resources: streams, verbs: ['get', 'create', 'delete', 'patch', 'update'] },
      { apiGroups: [''], resources: ['pods/ephemeralcontainers'], verbs: ['get', 'patch', 'update'] },
      { apiGroups: [''], resources: ['pods/eviction', 'serviceaccounts/token'], verbs: ['create'] },
      { apiGroups: ['apps'], resources: [...appObjects, 'statefulsets/scale'], verbs: [...read, ...write] },
      { apiGroups: otherGroups, resources: ['*'], verbs: [...read, ...write] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...read, ...write] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: [...read, ...write] },
    ]),
    clusterRoleBinding('portcullis-gateway', 'portcullis-impersonate', userSubject(gatewayUser)),
    clusterRoleBinding('alice-view', 'test-view', userSubject('alice')),
    roleBinding('team-a', 'alice-edit', 'ClusterRole/test-edit', userSubject('alice')),
    clusterRoleBinding('carol-admin', 'cluster-admin', userSubject('carol')),
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
