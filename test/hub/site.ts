// A real hub with members behind it, and a gateway process that serves the hub's aggregated API: what tests of hub mode
// start from. The gateway's account on the hub is its own ServiceAccount with the rights of objects.ts, never an
// administrator.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

import { accountToken } from '../controlplane/account-token.ts';
import { createAuthority } from '../pretend/certificates.ts';
import type { Authority } from '../pretend/certificates.ts';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../controlplane/fixture.ts';
import { writeKubeconfig } from '../controlplane/kubeconfig.ts';
import { until } from '../controlplane/member.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayOptions, GatewayProcess } from '../gateway-process.ts';
import {
  aggregationObjects,
  bindPerson,
  clusterSecret,
  gatewayAccess,
  gatewayAccount,
  gatewayGroups,
  serviceHost,
} from './objects.ts';

/** What to start. */
export interface HubSiteOptions {
  /** Names of the members; default `m1`. The hub is no member. */
  readonly members?: readonly string[];
  /** Of the members; the hub runs nothing but kube-apiserver. */
  readonly kubelet?: boolean;
  readonly controllerManager?: boolean;
  readonly kwok?: boolean;
  /** Audit logs; default true, as for every control plane of the tests. */
  readonly audit?: boolean;
  /** Further flags of every kube-apiserver. */
  readonly apiserverArgs?: readonly string[];
  /**
   * Objects of the hub, applied after the CRDs and before the gateway starts; default one cluster-gateway Secret a
   * member.
   */
  readonly objects?: (plane: ControlPlane) => readonly object[];
  /** Groups that get an APIService; default both. [] registers nothing. */
  readonly groups?: readonly string[];
  /** Flags, configuration and users of the gateway; users of a token file are off unless given. */
  readonly gateway?: Partial<GatewayOptions>;
}

/** What tests work with. */
export interface HubSite {
  readonly plane: ControlPlane;
  readonly hub: Member;
  readonly members: readonly Member[];
  readonly gateway: GatewayProcess;
  /** As the gateway's ServiceAccount. */
  readonly hubKubeconfig: string;
  /** Signs serving certificates of gateways; its certificate is the APIServices' caBundle. */
  readonly authority: Authority;
  /** Starts one more gateway on the same hub (a replica). The caller stops it. */
  startGateway(options?: Partial<GatewayOptions>): Promise<GatewayProcess>;
  /** Points the hub's APIServices at another port of this machine (a balancer), and waits until they are available. */
  register(port: number, groups?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Path of a cluster below the hub's or the gateway's address. */
export function clusterPath(name: string): string {
  return `/apis/gateway.portcullis.io/v1alpha1/clusters/${name}/proxy`;
}

/**
 * Starts hub, members and gateway; resolves when the APIServices are available. On the hub, `portcullis-viewer` and
 * `portcullis-user` are bound to alice, carol is cluster-admin, bob has no rights; on the members the users are those
 * of the fixture.
 */
export async function startHubSite(options: HubSiteOptions = {}): Promise<HubSite> {
  const names = options.members ?? ['m1'];
  const plane = await startControlPlane({
    members: ['hub', ...names],
    bare: ['hub'],
    ...(options.kubelet === undefined ? {} : { kubelet: options.kubelet }),
    ...(options.controllerManager === undefined ? {} : { controllerManager: options.controllerManager }),
    ...(options.kwok === undefined ? {} : { kwok: options.kwok }),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    ...(options.apiserverArgs === undefined ? {} : { apiserverArgs: options.apiserverArgs }),
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
    await hub.apply(
      ...gatewayAccess(),
      bindPerson('alice', 'portcullis-viewer'),
      bindPerson('alice', 'portcullis-user'),
    );
    await hub.apply(...(options.objects?.(plane) ?? members.map((member) => clusterSecret(member))));
    const hubKubeconfig = await accountKubeconfig(hub, join(plane.dir, 'hub-gateway.kubeconfig'));
    const authority = await createAuthority('portcullis-serving-ca');
    const startGateway = async (further: Partial<GatewayOptions> = {}): Promise<GatewayProcess> => {
      const dataDir = join(plane.dir, `gateway-${gateways.length + 1}`);
      const gateway = await startHubGateway(hubKubeconfig, authority, dataDir, { ...options.gateway, ...further });
      gateways.push(gateway);
      return gateway;
    };
    const register = (port: number, groups = options.groups ?? gatewayGroups): Promise<void> =>
      registerApiServices(hub, port, authority.certPem, groups);
    const gateway = await startGateway();
    await register(gateway.port);
    return { plane, hub, members, gateway, hubKubeconfig, authority, startGateway, register, stop };
  } catch (error) {
    const text = gateways.map((gateway) => gateway.log()).join('\n');
    await stop();
    throw new Error(`the hub site did not start: ${String(error)}\n${text.slice(-4000)}`, { cause: error });
  }
}

/** Starts a gateway with `--hub-kubeconfig` and a serving certificate that holds the name the aggregator verifies. */
export async function startHubGateway(
  hubKubeconfig: string,
  authority: Authority,
  dataDir: string,
  options: Partial<GatewayOptions> = {},
): Promise<GatewayProcess> {
  mkdirSync(dataDir, { recursive: true });
  const pair = await authority.issue({
    commonName: serviceHost,
    dnsNames: [serviceHost, 'localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const file = (name: string, text: string): string => {
    writeFileSync(join(dataDir, name), text, { mode: 0o600 });
    return join(dataDir, name);
  };
  file('ca.crt', authority.certPem);
  const gateway = await startGatewayProcess({
    kubeconfigs: [],
    users: [],
    ...options,
    dataDir,
    args: [
      '--hub-kubeconfig',
      hubKubeconfig,
      '--tls-cert-file',
      file('serving.crt', pair.certPem),
      '--tls-private-key-file',
      file('serving.key', pair.keyPem),
      // The members are processes of this machine.
      '--allow-member-addresses',
      '127.0.0.0/8',
      ...(options.args ?? []),
    ],
  });
  return { ...gateway, caPem: authority.certPem };
}

/** Applies every CRD of test/hub/crds and waits until the hub serves them. */
export async function applyCustomResources(hub: Member): Promise<void> {
  const folder = join(import.meta.dirname, 'crds');
  if (!existsSync(folder)) return;
  const objects = readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name))
    .toSorted()
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
    .map((document) => document.toJS() as CustomResource | null)
    .filter((object) => object !== null);
  await hub.apply(...objects);
  for (const { spec } of objects) {
    for (const { name, served } of spec.versions) {
      if (!served) continue;
      const path = `/apis/${spec.group}/${name}/${spec.names.plural}`;
      await until(`hub serves ${path}`, async () => (await hub.request('GET', path)).status === 200);
    }
  }
}

interface CustomResource {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/** A kubeconfig with a token of the gateway's ServiceAccount. */
export async function accountKubeconfig(hub: Member, file: string): Promise<string> {
  const { namespace, name } = gatewayAccount;
  const token = await accountToken(hub, namespace, name, { expirationSeconds: 86_400 });
  return await writeKubeconfig(file, [
    { name: 'hub', server: hub.url, caPem: hub.caPem, user: `${namespace}-${name}`, credential: { token } },
  ]);
}

/**
 * Makes Service and APIServices and waits until the aggregator has found the gateway behind them and tells of its
 * resources.
 */
export async function registerApiServices(
  hub: Member,
  port: number,
  caPem: string,
  groups: readonly string[],
): Promise<void> {
  await hub.apply(...aggregationObjects(port, caPem, groups));
  for (const group of groups) {
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.${group}`;
    await until(`APIService of ${group}`, async () => {
      const { status } = JSON.parse((await hub.request('GET', path)).body) as ApiService;
      return status?.conditions?.some((each) => each.type === 'Available' && each.status === 'True') ?? false;
    });
    await until(`discovery of ${group}`, async () => (await hub.request('GET', '/apis')).body.includes(`"${group}"`));
    await until(`OpenAPI of ${group}`, async () =>
      (await hub.request('GET', '/openapi/v3')).body.includes(`/${group}/`),
    );
  }
}

interface ApiService {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}
