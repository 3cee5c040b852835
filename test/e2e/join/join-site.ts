// A real hub with OCM's types but none of OCM's controllers, members that nobody has prepared, and a gateway that lets
// them join: what the tests of joining start from.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createAuthority } from '../../pretend/certificates.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import type { GatewayOptions, GatewayProcess } from '../../gateway-process.ts';
import { bindPerson, gatewayAccess, gatewayAccount, gatewaySubject, secretNamespace } from '../../hub/objects.ts';
import { accountKubeconfig, applyCustomResources, startHubGateway } from '../../hub/site.ts';
import { clusterJoinDefinition } from '../../../join/object/definition.ts';
import { conditionIn, definition, eventually, read, type Json } from '../distribute/works-site.ts';
import { grantedClusterRole, grantedRole, leaseRules } from '../../site/rbac.ts';

/** Namespace of bootstrap Secrets and bundles. */
export const bootstrapNamespace = 'joining';
const joins = '/apis/join.portcullis.io/v1alpha1/clusterjoins';

export interface JoinSite {
  readonly plane: ControlPlane;
  readonly hub: Member;
  readonly members: readonly Member[];
  startGateway(options?: Partial<GatewayOptions>): Promise<GatewayProcess>;
  stop(): Promise<void>;
}

export async function startJoinSite(names: readonly string[]): Promise<JoinSite> {
  const plane = await startControlPlane({ controllerManager: true, members: ['hub', ...names], bare: ['hub'] });
  const gateways: GatewayProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await plane.stop();
  };
  try {
    const hub = plane.member('hub');
    await applyCustomResources(hub);
    await hub.apply(
      ...gatewayAccess(),
      bindPerson('alice', 'portcullis-user'),
      ...joinAccess(),
      definition('manifestworks'),
      clusterJoinDefinition,
    );
    await eventually('the hub serves ClusterJoins', async () => (await hub.request('GET', joins)).status === 200);
    const kubeconfig = await accountKubeconfig(hub, path.join(plane.dir, 'hub-gateway.kubeconfig'));
    const authority = await createAuthority('portcullis-serving-ca');
    const startGateway = async (options: Partial<GatewayOptions> = {}): Promise<GatewayProcess> => {
      const dataDir = path.join(plane.dir, `gateway-${gateways.length + 1}`);
      const joinArgs = [
        ...['--cluster-joins', '--sources', 'ocm,cluster-gateway', '--joins-lease', 'portcullis/joins'],
        ...['--joins-bootstrap-namespaces', bootstrapNamespace],
      ];
      const args = [...joinArgs, ...(options.args ?? [])];
      const gateway = await startHubGateway(kubeconfig, authority, dataDir, { ...options, args });
      gateways.push(gateway);
      return gateway;
    };
    return { plane, hub, members: names.map((name) => plane.member(name)), startGateway, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the gateway's account may do on the hub for joins; the chart gives the same. */
export function joinAccess(): readonly object[] {
  const secrets = (verbs: readonly string[]): object => ({ apiGroups: [''], resources: ['secrets'], verbs });
  const within = (namespace: string, rules: readonly object[]): readonly object[] =>
    grantedRole(namespace, 'portcullis-joins', rules, gatewaySubject);
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: bootstrapNamespace } },
    ...grantedClusterRole(
      'portcullis-joins',
      [
        {
          apiGroups: ['join.portcullis.io'],
          resources: ['clusterjoins'],
          verbs: ['create', 'list', 'watch', 'patch', 'delete'],
        },
        { apiGroups: ['cluster.x-k8s.io'], resources: ['clusters'], verbs: ['list', 'watch'] },
        { apiGroups: ['join.portcullis.io'], resources: ['clusterjoins/status'], verbs: ['patch'] },
        {
          apiGroups: ['cluster.open-cluster-management.io'],
          resources: ['managedclusters'],
          verbs: ['create', 'delete', 'list', 'patch', 'watch'],
        },
        { apiGroups: ['cluster.open-cluster-management.io'], resources: ['managedclusters/status'], verbs: ['patch'] },
        ...[
          ['work.open-cluster-management.io', 'manifestworks'],
          ['addon.open-cluster-management.io', 'managedclusteraddons'],
        ].map(([group, resource]) => ({
          apiGroups: [group],
          resources: [resource],
          verbs: ['list', 'delete', 'patch'],
        })),
      ],
      gatewaySubject,
    ),
    ...within(secretNamespace, [secrets(['create', 'delete', 'get', 'patch'])]),
    ...within(bootstrapNamespace, [
      secrets(['delete', 'get']),
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ]),
    ...within('default', [{ apiGroups: [''], resources: ['events'], verbs: ['create'] }]),
    ...within(gatewayAccount.namespace, leaseRules('joins')),
  ];
}

/** Makes a bootstrap Secret and a ClusterJoin that names it. */
export async function declare(
  hub: Member,
  name: string,
  kubeconfig: string,
  spec: object = {},
  annotations: object = {},
): Promise<void> {
  await hub.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-bootstrap`, namespace: bootstrapNamespace },
      stringData: { kubeconfig: readFileSync(kubeconfig, 'utf8') },
    },
    {
      apiVersion: 'join.portcullis.io/v1alpha1',
      kind: 'ClusterJoin',
      metadata: { name, annotations },
      spec: { bootstrapKubeconfigSecret: { namespace: bootstrapNamespace, name: `${name}-bootstrap` }, ...spec },
    },
  );
}

export function joinPath(name: string): string {
  return `${joins}/${name}`;
}

export function managedPath(name: string): string {
  return `/apis/cluster.open-cluster-management.io/v1/managedclusters/${name}`;
}

export function secretPath(name: string, namespace: string = secretNamespace): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

/** Waits until the condition of the ClusterJoin is so, and returns the ClusterJoin. */
export async function says(hub: Member, name: string, type: string, status: string, reason?: string): Promise<Json> {
  let last: Json;
  return await eventually(`${name} ${type} ${status} ${reason ?? ''}`, async () => {
    last = await read(hub, joinPath(name));
    const found = conditionIn(last?.status, type);
    return found?.status === status && (reason === undefined || found.reason === reason) ? last : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last?.status, undefined, 1)}`, { cause: error });
  });
}
