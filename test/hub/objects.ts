// What a hub holds for the gateway before it starts: its ServiceAccount with the least rights it needs, roles for
// people, and clusters as cluster-gateway's Secrets. A right given here for a test's comfort hides one that is missing
// from the chart.
import type { Member } from '../controlplane/fixture.ts';
import {
  clusterRole,
  clusterRoleBinding,
  grantedClusterRole,
  grantedRole,
  roleBinding,
  userSubject,
} from '../site/rbac.ts';

/** Namespace and ServiceAccount of the gateway on the hub; also namespace and name of its Service. */
export const gatewayAccount = { namespace: 'portcullis', name: 'portcullis' } as const;
/** Where cluster-gateway keeps its Secrets. */
export const secretNamespace = 'open-cluster-management-credentials';
/** The groups that the gateway serves through the hub. */
export const gatewayGroups = ['gateway.portcullis.io', 'cluster.core.oam.dev'] as const;

/** The gateway's account as the subject of a binding. */
export const gatewaySubject = { kind: 'ServiceAccount', ...gatewayAccount };
const read = ['get', 'list', 'watch'];

/** A ClusterRoleBinding of the ClusterRole to a person. */
export function bindPerson(name: string, role: string): object {
  return clusterRoleBinding(`${role}-${name}`, role, userSubject(name));
}

/** Namespaces, the gateway's account and its rights on the hub. */
export function gatewayAccess(): readonly object[] {
  return [
    ...[gatewayAccount.namespace, secretNamespace].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: gatewayAccount },
    clusterRoleBinding('portcullis-auth-delegator', 'system:auth-delegator', gatewaySubject),
    roleBinding(
      'kube-system',
      'portcullis-front-proxy',
      'Role/extension-apiserver-authentication-reader',
      gatewaySubject,
    ),
    ...grantedClusterRole(
      'portcullis-sources',
      [
        { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
        { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['list', 'watch'] },
        {
          apiGroups: ['cluster.open-cluster-management.io'],
          resources: ['managedclusters'],
          verbs: [...read, 'patch'],
        },
        { apiGroups: ['cluster.karmada.io', 'cluster.x-k8s.io'], resources: ['clusters'], verbs: read },
        { apiGroups: ['cluster.clusterpedia.io'], resources: ['clustersyncresources', 'pediaclusters'], verbs: read },
      ],
      gatewaySubject,
    ),
    ...grantedRole(
      secretNamespace,
      'portcullis-health',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['patch'] }],
      gatewaySubject,
    ),
    // What an administrator gives to people: seeing clusters, and everything behind them (the member decides about
    // that).
    clusterRole('portcullis-viewer', [
      { apiGroups: gatewayGroups, resources: ['clusters', 'clustergateways', 'virtualclusters'], verbs: read },
    ]),
    clusterRole('portcullis-user', [
      { apiGroups: gatewayGroups, resources: ['clusters/proxy', 'clustergateways/proxy'], verbs: ['*'] },
    ]),
  ];
}

/**
 * A member as cluster-gateway's Secret: address and CA of its API server, credential of the gateway's own user there.
 */
export function clusterSecret(
  member: Pick<Member, 'name' | 'url' | 'caPem' | 'gatewayToken'>,
  metadata: { readonly labels?: object; readonly annotations?: object } = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: member.name,
      namespace: secretNamespace,
      annotations: metadata.annotations ?? {},
      labels: {
        'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken',
        'cluster.core.oam.dev/cluster-endpoint-type': 'Const',
        ...metadata.labels,
      },
    },
    stringData: { endpoint: member.url, 'ca.crt': member.caPem, token: member.gatewayToken },
  };
}

/**
 * The Service by which the aggregator finds the gateway on a port of this machine, and one APIService for each group.
 */
export function aggregationObjects(
  port: number,
  caPem: string,
  groups: readonly string[] = gatewayGroups,
): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: gatewayAccount,
      spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ name: 'https', port, protocol: 'TCP' }] },
    },
    ...groups.map((group) => ({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1alpha1.${group}` },
      spec: {
        group,
        version: 'v1alpha1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        caBundle: Buffer.from(caPem).toString('base64'),
        service: { ...gatewayAccount, port },
      },
    })),
  ];
}

/** The name that the aggregator verifies in the gateway's serving certificate. */
export const serviceHost = `${gatewayAccount.name}.${gatewayAccount.namespace}.svc`;
