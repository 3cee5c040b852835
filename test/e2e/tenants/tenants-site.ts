// A real hub with the types and admission policies of tenants, real members where nobody but their own users has
// rights, and a gateway that looks after TenantBindings: what the tests of tenants start from.
import path from 'node:path';
import { createAuthority } from '../../pretend/certificates.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import type { GatewayOptions, GatewayProcess } from '../../gateway-process.ts';
import { clusterSecret, gatewayAccess, gatewayAccount, gatewaySubject, secretNamespace } from '../../hub/objects.ts';
import { accountKubeconfig, applyCustomResources, startHubGateway } from '../../hub/site.ts';
import { authorMutation, authorValidation } from '../../../tenants/object/author-policy.ts';
import { tenantBindingDefinition } from '../../../tenants/object/definition.ts';
import { conditionIn, eventually, hasCondition, patch, read, type Json } from '../distribute/works-site.ts';
import {
  clusterRole,
  clusterRoleBinding,
  grantedClusterRole,
  grantedRole,
  leaseRules,
  userSubject,
} from '../../site/rbac.ts';
import { anything, customResource } from '../../site/custom-resource.ts';

const rbac = 'rbac.authorization.k8s.io';
export const rbacPath = `/apis/${rbac}/v1`;
const bindings = '/apis/tenancy.portcullis.io/v1alpha1/tenantbindings';
const permissions = '/apis/rbac.open-cluster-management.io/v1alpha1';

export type Person = 'alice' | 'bob' | 'carol';

export interface TenantsSite {
  readonly plane: ControlPlane;
  readonly hub: Member;
  readonly members: readonly Member[];
  readonly gateway: GatewayProcess;
  stop(): Promise<void>;
}

export async function startTenantsSite(names: readonly string[]): Promise<TenantsSite> {
  const plane = await startControlPlane({ controllerManager: true, members: ['hub', ...names], bare: ['hub'] });
  const gateways: GatewayProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await plane.stop();
  };
  try {
    const hub = plane.member('hub');
    const members = names.map((name) => plane.member(name));
    await applyCustomResources(hub);
    await hub.apply(...gatewayAccess(), ...members.map((member) => clusterSecret(member)));
    await prepareHub(hub);
    const kubeconfig = await accountKubeconfig(hub, path.join(plane.dir, 'hub-gateway.kubeconfig'));
    const authority = await createAuthority('portcullis-serving-ca');
    const args = [...tenantArgs, '--sources', 'cluster-gateway'];
    const options: Partial<GatewayOptions> = { args };
    const gateway = await startHubGateway(kubeconfig, authority, path.join(plane.dir, 'gateway-1'), options);
    gateways.push(gateway);
    await believed(hub);
    return { plane, hub, members, gateway, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const tenantArgs = ['--tenant-bindings', '--cluster-permissions', '--tenants-lease', 'portcullis/tenants'];

/** Types, policies and rights on the hub. Everybody may write TenantBindings there; that alone gives nothing. */
export async function prepareHub(hub: Member): Promise<void> {
  await hub.apply(
    tenantBindingDefinition,
    clusterPermissionDefinition,
    ...authorMutation,
    ...authorValidation,
    ...tenantAccess(),
    clusterRole('tenants', [
      { apiGroups: ['tenancy.portcullis.io'], resources: ['tenantbindings'], verbs: ['*'] },
      { apiGroups: ['rbac.open-cluster-management.io'], resources: ['clusterpermissions'], verbs: ['*'] },
    ]),
    ...(['alice', 'bob', 'carol'] as const).map((name) =>
      clusterRoleBinding(`tenants-${name}`, 'tenants', userSubject(name)),
    ),
  );
  await eventually('the hub serves TenantBindings', async () => (await hub.request('GET', bindings)).status === 200);
  const all = `${permissions}/clusterpermissions`;
  await eventually('the hub serves ClusterPermissions', async () => (await hub.request('GET', all)).status === 200);
}

/** Waits until the policies are so old that the gateway believes what they write into new objects. */
export async function believed(hub: Member): Promise<void> {
  const policy = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/portcullis-tenant-author';
  const { creationTimestamp } = (await read(hub, policy)).metadata;
  await eventually('the policies are old enough', async () => Date.now() - Date.parse(creationTimestamp) > 6_500);
}

/** What the gateway's account may do on the hub for tenants; the chart gives the same. */
export function tenantAccess(): readonly object[] {
  const owned = (group: string, resource: string): readonly object[] => [
    { apiGroups: [group], resources: [resource], verbs: ['list', 'watch', 'patch'] },
    { apiGroups: [group], resources: [`${resource}/status`], verbs: ['patch'] },
  ];
  return [
    ...grantedClusterRole(
      'portcullis-tenants',
      [
        ...owned('tenancy.portcullis.io', 'tenantbindings'),
        ...owned('rbac.open-cluster-management.io', 'clusterpermissions'),
        {
          apiGroups: ['cluster.open-cluster-management.io'],
          resources: ['placementdecisions'],
          verbs: ['list', 'watch'],
        },
        {
          apiGroups: ['admissionregistration.k8s.io'],
          resources: ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
          resourceNames: ['portcullis-tenant-author'],
          verbs: ['list', 'watch'],
        },
      ],
      gatewaySubject,
    ),
    ...grantedRole(gatewayAccount.namespace, 'portcullis-tenants', leaseRules('tenants'), gatewaySubject),
  ];
}

/** OCM's type as far as the tests need it: any spec, and conditions in the status. */
const clusterPermissionDefinition = customResource(
  'clusterpermissions.rbac.open-cluster-management.io',
  'ClusterPermission',
  {
    versions: ['v1alpha1'],
    version: { subresources: { status: {} } },
    schema: {
      type: 'object',
      properties: {
        spec: anything,
        status: { type: 'object', properties: { conditions: { type: 'array', items: anything } } },
      },
    },
  },
);

/** A TenantBinding that gives bob a role. */
export function tenantBinding(name: string, spec: object, annotations: object = {}): object {
  return {
    apiVersion: 'tenancy.portcullis.io/v1alpha1',
    kind: 'TenantBinding',
    metadata: { name, annotations },
    spec: { subjects: [{ kind: 'User', name: 'bob' }], ...spec },
  };
}

/** A grant of a ClusterRole in the whole cluster. */
export const everywhere = (clusterRole: string): object => ({ clusterRole, scope: 'Cluster' });

export function bindingPath(name: string): string {
  return `${bindings}/${name}`;
}

export function permissionPath(namespace: string, name: string): string {
  return `${permissions}/namespaces/${namespace}/clusterpermissions/${name}`;
}

/** Has a person of the hub apply an object; the answer is what kubectl says. */
export async function applyAs(hub: Member, who: Person, object: object): Promise<{ ok: boolean; text: string }> {
  const { code, stdout, stderr } = await hub.kubectl(['--kubeconfig', hub.users[who].kubeconfig, 'apply', '-f', '-'], {
    stdin: JSON.stringify(object),
  });
  return { ok: code === 0, text: stdout + stderr };
}

/** Like `applyAs`, and fails where the hub refuses. */
export async function declareAs(hub: Member, who: Person, object: object): Promise<void> {
  const { ok, text } = await applyAs(hub, who, object);
  if (!ok) throw new Error(text);
}

/** Labels the cluster on the hub; null removes a label. */
export async function label(hub: Member, name: string, labels: Readonly<Record<string, string | null>>): Promise<void> {
  await patch(hub, `/api/v1/namespaces/${secretNamespace}/secrets/${name}`, { metadata: { labels } });
}

/** Waits until the status says this of the cluster, and returns that part of it. */
export async function clusterSays(hub: Member, name: string, cluster: string, phase: string): Promise<Json> {
  let last: Json;
  return await eventually(`${name}: ${cluster} ${phase}`, async () => {
    last = await read(hub, bindingPath(name));
    return last?.status?.clusters?.find((each: Json) => each.name === cluster && each.phase === phase);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last?.status, undefined, 1)}`, { cause: error });
  });
}

/** Waits until the condition of the object is so for its present generation. */
export async function says(hub: Member, path: string, type: string, status: string, reason?: string): Promise<Json> {
  return conditionIn((await hasCondition(hub, path, type, status, reason)).status, type);
}

/** Path of an object that a TenantBinding makes. */
export function granted(name: string, namespace?: string): string {
  return namespace === undefined
    ? `${rbacPath}/clusterrolebindings/portcullis:tenant:${name}:0`
    : `${rbacPath}/namespaces/${namespace}/rolebindings/portcullis:tenant:${name}:0`;
}

/** Whether bob, or somebody else, may do this in the member, as the member itself answers. */
export async function bobMay(
  member: Member,
  verb: string,
  resource: string,
  namespace = '',
  user = 'bob',
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups: ['developers'], resourceAttributes: { verb, resource, namespace } },
  };
  const { body } = await member.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
  return (JSON.parse(body) as Json).status.allowed === true;
}
