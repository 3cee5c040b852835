// A real hub with a garbage collector, a member, and a gateway that imports clusters by policies: what the tests of
// import policies start from. The gateway's account has the rights that the guide lists, and no more.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { clusterpediaDefinitions } from '../../../import/definitions/clusterpedia.ts';
import { createAuthority } from '../../pretend/certificates.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, ControlPlaneOptions, Member } from '../../controlplane/fixture.ts';
import type { GatewayOptions, GatewayProcess } from '../../gateway-process.ts';
import { gatewayAccess, gatewaySubject } from '../../hub/objects.ts';
import { accountKubeconfig, startHubGateway } from '../../hub/site.ts';
import { eventually as eventuallyWithin, type Ask } from '../../site/polling.ts';
import { grantedClusterRole, grantedRole, leaseRules } from '../../site/rbac.ts';

const policyGroup = 'policy.clusterpedia.io';
const clusterGroup = 'cluster.clusterpedia.io';

/** Paths of collections, and of everything else that tests read. */
export const paths = {
  policies: `/apis/${policyGroup}/v1alpha1/clusterimportpolicies`,
  lifecycles: `/apis/${policyGroup}/v1alpha1/pediaclusterlifecycles`,
  clusters: `/apis/${clusterGroup}/v1alpha2/pediaclusters`,
} as const;

/** What the gateway's account may do on the hub beside reading clusters. */
export const importRules = [
  { apiGroups: [policyGroup], resources: ['clusterimportpolicies'], verbs: ['list', 'watch', 'patch'] },
  {
    apiGroups: [policyGroup],
    resources: ['clusterimportpolicies/status', 'pediaclusterlifecycles/status'],
    verbs: ['patch'],
  },
  {
    apiGroups: [policyGroup],
    resources: ['pediaclusterlifecycles'],
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [clusterGroup], resources: ['pediaclusters'], verbs: ['list', 'watch', 'create', 'patch'] },
  { apiGroups: [clusterGroup], resources: ['pediaclusters/status'], verbs: ['patch'] },
];

/** A hub on which gateways may be started that put policies into effect. */
export interface ImportHub {
  readonly plane: ControlPlane;
  readonly hub: Member;
  startGateway(options?: Partial<GatewayOptions>): Promise<GatewayProcess>;
  stop(): Promise<void>;
}

export interface ImportSite extends ImportHub {
  readonly gateway: GatewayProcess;
}

export interface ImportSiteOptions extends Partial<ControlPlaneOptions> {
  /** Rights to read the types that policies import from. */
  readonly sourceRules?: readonly object[];
  /** Of every gateway. */
  readonly gateway?: Partial<GatewayOptions>;
}

const clusterpediaNamespace = 'clusterpedia-system';
const gatewayArgs = ['--import-policies'];
const sources = ['--sources', 'pediacluster'];

/** A hub with one gateway. */
export async function startImportSite(options: ImportSiteOptions = {}): Promise<ImportSite> {
  const site = await startImportHub(options);
  try {
    return { ...site, gateway: await site.startGateway() };
  } catch (error) {
    await site.stop();
    throw error;
  }
}

/** A hub without a gateway. */
export async function startImportHub(options: ImportSiteOptions = {}): Promise<ImportHub> {
  const members = options.members ?? ['m1'];
  const plane = await startControlPlane({
    audit: false,
    ...options,
    members: ['hub', ...members],
    bare: members,
    controllerManager: true,
  });
  const gateways: GatewayProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await plane.stop();
  };
  try {
    const hub = plane.member('hub');
    await hub.apply(...gatewayAccess(), ...clusterpediaDefinitions, ...importAccess(options.sourceRules ?? []));
    for (const collection of Object.values(paths))
      await eventually(
        `the hub serves ${collection}`,
        async () => (await hub.request('GET', collection)).status === 200,
      );
    const kubeconfig = await accountKubeconfig(hub, path.join(plane.dir, 'hub-gateway.kubeconfig'));
    const authority = await createAuthority('portcullis-serving-ca');
    const startGateway = async (further: Partial<GatewayOptions> = {}): Promise<GatewayProcess> => {
      const dataDir = further.dataDir ?? path.join(plane.dir, `gateway-${gateways.length + 1}`);
      const given = [...(options.gateway?.args ?? []), ...(further.args ?? [])];
      const args = [...gatewayArgs, ...(given.includes('--sources') ? [] : sources), ...given];
      const gateway = await startHubGateway(kubeconfig, authority, dataDir, { ...options.gateway, ...further, args });
      gateways.push(gateway);
      return gateway;
    };
    return { plane, hub, startGateway, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the gateway's account may do on the hub for policies; the chart gives the same. */
export function importAccess(sourceRules: readonly object[]): readonly object[] {
  const namespace = clusterpediaNamespace;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...grantedClusterRole('portcullis-import', [...importRules, ...sourceRules], gatewaySubject),
    ...grantedRole(
      namespace,
      'portcullis-import',
      leaseRules(
        'clusterpedia-controller-manager',
        'clusterpedia-clustersynchro-manager',
        'clusterpedia-clustersynchro-manager-a',
      ),
      gatewaySubject,
    ),
  ];
}

/** A policy that is shipped, as a user applies it. */
export function samplePolicy(name: string): Record<string, unknown> {
  const file = path.join(import.meta.dirname, '../../../packaging/samples/import-policies', `${name}.yaml`);
  return parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
}

/** A CustomResourceDefinition of test/hub/crds. */
export function definitionFile(name: string): object {
  return parse(readFileSync(path.join(import.meta.dirname, '../../hub/crds', name), 'utf8')) as object;
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of a hub, whose shape the tests state
export type Json = any;

/** The object, undefined where the hub has none. */
export async function read(hub: Member, path: string): Promise<Json | undefined> {
  const { status, body } = await hub.request('GET', path);
  return status === 200 ? JSON.parse(body) : undefined;
}

/** One condition of the object at the path. */
export async function condition(hub: Member, path: string, type: string): Promise<Json | undefined> {
  return (await read(hub, path))?.status?.conditions?.find((each: Json) => each.type === type);
}

/** Waits for what the gateway and the hub's garbage collector do, which learns of new types every half minute. */
export function eventually<T>(what: string, ask: Ask<T>): Promise<T> {
  return eventuallyWithin(what, ask, { timeoutMs: 90_000, everyMs: 50 });
}

/** Waits until the condition has this reason. */
export async function hasReason(hub: Member, path: string, type: string, reason: string): Promise<Json> {
  let last: Json;
  return await eventually(`${path} ${type} ${reason}`, async () => {
    last = await condition(hub, path, type);
    return last?.reason === reason ? last : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`, { cause: error });
  });
}

/** Changes a status as the program does whose object it is. */
export async function putStatus(hub: Member, path: string, status: object): Promise<void> {
  const object = await read(hub, path);
  const answer = await hub.request('PUT', `${path}/status`, { ...object, status });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
}

export async function remove(hub: Member, path: string): Promise<void> {
  const { status, body } = await hub.request('DELETE', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
}

/** Waits until there is no such object. */
export async function isGone(hub: Member, path: string): Promise<void> {
  const gone = async (): Promise<boolean> => (await hub.request('GET', path)).status === 404;
  await eventually(`${path} is gone`, gone);
}
