// A real hub with OCM's types, members with the rights that the guide lists and no agent, and a gateway that executes
// ManifestWorks: what the tests of works start from.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { parseExact } from '../../../lib/json/exact-json.ts';
import { createAuthority } from '../../pretend/certificates.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, ControlPlaneOptions, Member } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { GatewayOptions, GatewayProcess } from '../../gateway-process.ts';
import { clusterSecret, gatewayAccess, gatewayAccount, gatewaySubject } from '../../hub/objects.ts';
import { accountKubeconfig, applyCustomResources, startHubGateway } from '../../hub/site.ts';
import { eventually as eventuallyWithin, type Ask } from '../../site/polling.ts';
import {
  accountSubject,
  clusterRole,
  clusterRoleBinding,
  grantedClusterRole,
  grantedRole,
  leaseRules,
  userSubject,
} from '../../site/rbac.ts';

const work = 'work.open-cluster-management.io';

/** What the gateway's account may do on the hub, beside reading clusters. */
export const hubRules = [
  { apiGroups: [work], resources: ['manifestworks'], verbs: ['list', 'watch', 'patch', 'delete', 'execute-as'] },
  { apiGroups: [work], resources: ['manifestworks/status'], verbs: ['patch'] },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
    resourceNames: ['portcullis-last-modifier'],
    verbs: ['list', 'watch'],
  },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: ['managed-cluster-lease'],
    verbs: ['list', 'watch', 'patch'],
  },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  { apiGroups: ['cluster.open-cluster-management.io'], resources: ['managedclusters/status'], verbs: ['patch'] },
];
/** The agent's account executes works without an executor, and nobody is asked: most tests install no policies. */
const unasked = [
  ...['--works-default-executor', 'open-cluster-management-agent/klusterlet-work-sa'],
  '--works-accept-unstamped',
];
/** What the gateway's own credential may do in a member, beside impersonation. */
export const memberRules = [
  {
    apiGroups: [work],
    resources: ['appliedmanifestworks'],
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [work], resources: ['appliedmanifestworks/status'], verbs: ['patch'] },
];

// oxlint-disable-next-line typescript/no-explicit-any -- objects of API servers, whose shape the tests state
export type Json = any;

export interface WorksSite {
  readonly plane: ControlPlane;
  readonly hub: Member;
  readonly members: readonly Member[];
  readonly gateway: GatewayProcess;
  /** OCM's hash of the hub's address. */
  readonly hubHash: string;
  startGateway(options?: Partial<GatewayOptions>): Promise<GatewayProcess>;
  stop(): Promise<void>;
}

export interface WorksSiteOptions extends Partial<ControlPlaneOptions> {
  readonly gateway?: Partial<GatewayOptions>;
  /** Whether the gateway writes an audit log of everything. Default true. */
  readonly gatewayAudit?: boolean;
  /** Whether the gateway has its defaults about who is asked for works, in place of `unasked`. Default false. */
  readonly asks?: boolean;
  /** The Lease of the gateway, `NAMESPACE/NAME`. Default: one that it may use. */
  readonly lease?: string;
  /** Members whose works the gateway does not execute. Default none. */
  readonly unchosen?: readonly string[];
}

export async function startWorksSite(options: WorksSiteOptions = {}): Promise<WorksSite> {
  const names = options.members ?? ['m1'];
  const plane = await startControlPlane({
    controllerManager: true,
    ...options,
    members: ['hub', ...names],
    bare: ['hub'],
  });
  const gateways: GatewayProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await plane.stop();
  };
  try {
    const hub = plane.member('hub');
    const members = names.map((name) => plane.member(name));
    await applyCustomResources(hub);
    await hub.apply(...gatewayAccess(), ...workAccess(), definition('manifestworks'));
    await serves(hub, `/apis/${work}/v1/manifestworks`);
    for (const member of members)
      await prepareMember(hub, member, options.unchosen?.includes(member.name) === true ? {} : chosen);
    const kubeconfig = await accountKubeconfig(hub, path.join(plane.dir, 'hub-gateway.kubeconfig'));
    const authority = await createAuthority('portcullis-serving-ca');
    const startGateway = async (further: Partial<GatewayOptions> = {}): Promise<GatewayProcess> => {
      const dataDir = path.join(plane.dir, `gateway-${gateways.length + 1}`);
      const args = [
        ...[
          '--execute-works',
          '--sources',
          'ocm,cluster-gateway',
          '--works-lease',
          options.lease ?? 'portcullis/works',
        ],
        ...(options.asks === true ? [] : unasked),
        ...(options.gatewayAudit === false ? [] : auditArgs(dataDir)),
        ...(options.gateway?.args ?? []),
        ...(further.args ?? []),
      ];
      const gateway = await startHubGateway(kubeconfig, authority, dataDir, { ...options.gateway, ...further, args });
      gateways.push(gateway);
      return gateway;
    };
    const hubHash = createHash('sha256').update(hub.url).digest('hex');
    return { plane, hub, members, gateway: await startGateway(), hubHash, startGateway, stop };
  } catch (error) {
    const text = gateways.map((gateway) => gateway.log()).join('\n');
    await stop();
    throw new Error(`the site did not start: ${String(error)}\n${text.slice(-3000)}`, { cause: error });
  }
}

/** Every request of the gateway is audited into a file of its data folder. */
function auditArgs(dataDir: string): readonly string[] {
  mkdirSync(dataDir, { recursive: true });
  const policy = path.join(dataDir, 'audit-policy.json');
  writeFileSync(
    policy,
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
  );
  return ['--audit-policy-file', policy, '--audit-log-path', path.join(dataDir, 'audit.log')];
}

/** Events of the gateway's own audit log. */
export function gatewayAudit({ dataDir }: GatewayProcess): readonly Json[] {
  const lines = readFileSync(path.join(dataDir, 'audit.log'), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

/** Registers a cluster on the hub. */
export async function registerCluster(
  hub: Member,
  cluster: Parameters<typeof clusterSecret>[0],
  metadata: object = { annotations: chosen },
): Promise<void> {
  const { name, url, caPem } = cluster;
  await hub.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    {
      apiVersion: 'cluster.open-cluster-management.io/v1',
      kind: 'ManagedCluster',
      metadata: { ...metadata, name },
      spec: {
        hubAcceptsClient: true,
        managedClusterClientConfigs: [{ url, caBundle: Buffer.from(caPem).toString('base64') }],
      },
    },
    clusterSecret(cluster),
  );
}

/** Registers the member, chooses it, and gives gateway and default executor their rights there. */
export async function prepareMember(hub: Member, member: Member, annotations: object = chosen): Promise<void> {
  await registerCluster(hub, member, { annotations });
  await member.apply(definition('appliedmanifestworks'));
  await serves(member, `/apis/${work}/v1/appliedmanifestworks`);
  await member.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'executors' } },
    ...grantedClusterRole('portcullis-works', memberRules, userSubject(gatewayUser)),
    ...executorAccess(),
  );
}

/** The rights of the default executor: those that OCM's agent has, and some more. */
export function executorAccess(): readonly object[] {
  return [
    clusterRole('everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]),
    clusterRoleBinding(
      'klusterlet-work',
      'everything',
      accountSubject('open-cluster-management-agent', 'klusterlet-work-sa'),
    ),
  ];
}

export const chosen = { 'gateway.portcullis.io/execute-works': 'true' };

/** What the gateway's account may do on the hub for works; the chart gives the same. */
export function workAccess(): readonly object[] {
  return [
    ...grantedClusterRole('portcullis-works', hubRules, gatewaySubject),
    ...grantedRole(gatewayAccount.namespace, 'portcullis-works', leaseRules('works'), gatewaySubject),
  ];
}

/** One of OCM's definitions, as an object. */
export function definition(name: string): object {
  return parse(readFileSync(path.join(import.meta.dirname, '../../hub/works', `${name}.yaml`), 'utf8')) as object;
}

async function serves(member: Member, collection: string): Promise<void> {
  await eventually(
    `${member.name} serves ${collection}`,
    async () => (await member.request('GET', collection)).status === 200,
  );
}

/** Waits for what the gateway does; the time is one after which a test fails, and no measure. */
export function eventually<T>(what: string, ask: Ask<T>): Promise<T> {
  return eventuallyWithin(what, ask, { timeoutMs: 60_000, everyMs: 50 });
}

export function workPath(name: string, namespace = 'm1'): string {
  return `/apis/${work}/v1/namespaces/${namespace}/manifestworks/${name}`;
}

export function appliedWorkPath(name: string): string {
  return `/apis/${work}/v1/appliedmanifestworks/${name}`;
}

/** A ManifestWork of the cluster m1, or of another. */
export function manifestWork(
  name: string,
  manifests: readonly object[],
  spec: object = {},
  metadata: object = {},
): object {
  return {
    apiVersion: `${work}/v1`,
    kind: 'ManifestWork',
    metadata: { name, namespace: 'm1', ...metadata },
    spec: { workload: { manifests }, ...spec },
  };
}

export function configMap(name: string, data: Readonly<Record<string, string>> = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns1', ...metadata }, data };
}

export function configMapPath(name: string, namespace = 'ns1'): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}

/** An entry of `manifestConfigs` for a ConfigMap of ns1. */
export function configFor(name: string, config: object, kind: object = { group: '', resource: 'configmaps' }): object {
  return { resourceIdentifier: { ...kind, name, namespace: 'ns1' }, ...config };
}

/** The object, undefined where there is none. */
export async function read(member: Member, path: string): Promise<Json | undefined> {
  const { status, body } = await member.request('GET', path);
  return status === 200 ? parseExact(body) : undefined;
}

/** Makes or replaces a work; the answer is the work as the hub has it. */
export async function put(hub: Member, object: object): Promise<Json> {
  const { metadata } = object as { metadata: { name: string; namespace: string } };
  const path = workPath(metadata.name, metadata.namespace);
  const before = await read(hub, path);
  if (before === undefined) {
    const answer = await hub.request('POST', path.slice(0, path.lastIndexOf('/')), object);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  }
  // Until nobody else wrote it in between.
  return await eventually(`${path} is replaced`, async () => {
    const { spec } = object as { readonly spec: object };
    const answer = await hub.request('PUT', path, { ...(await read(hub, path)), spec });
    if (answer.status === 409) return undefined;
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  });
}

/** A JSON merge patch. */
export async function patch(member: Member, path: string, body: object): Promise<Json> {
  const answer = await member.request('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body);
}

/** Waits until the condition of the work is so for its present generation, and returns the work. */
export async function hasCondition(
  hub: Member,
  path: string,
  type: string,
  status: string,
  reason?: string,
): Promise<Json> {
  let last: Json;
  return await eventually(`${path} ${type} ${status} ${reason ?? ''}`, async () => {
    last = await read(hub, path);
    const found = conditionIn(last?.status, type);
    const isIt = found?.status === status && (reason === undefined || found.reason === reason);
    return isIt && found.observedGeneration === last.metadata.generation ? last : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last?.status, undefined, 1)}`, { cause: error });
  });
}

export function conditionIn(status: Json, type: string): Json | undefined {
  return status?.conditions?.find((each: Json) => each.type === type);
}

/** The entry of one manifest in a work's status. */
export function manifestAt(work: Json, index: number): Json {
  return work.status.resourceStatus.manifests[index];
}

export async function remove(member: Member, path: string): Promise<void> {
  const { status, body } = await member.request('DELETE', path);
  if (status >= 300) throw new Error(`${path}: ${status} ${body}`);
}

export async function isGone(member: Member, path: string): Promise<void> {
  await eventually(`${path} is gone`, async () => (await member.request('GET', path)).status === 404);
}
