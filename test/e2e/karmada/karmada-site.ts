// A hub with Karmada's Clusters, its members, and a gateway that stands in for Karmada's search: the hub sends all
// requests for search.karmada.io/v1alpha1 to it. The gateway's account has the rights that the guide lists, no more.
import { indexRules } from '../../../lib/rights/index-rules.ts';
import { resourceRegistryDefinition } from '../../../import/definitions/karmada.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { aggregationObjects, gatewaySubject } from '../../hub/objects.ts';
import { startHubSite } from '../../hub/site.ts';
import type { HubSite, HubSiteOptions } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { reviewRights } from '../index/index-objects.ts';
import { searchGroup as group, searchPath } from './karmada-paths.ts';
import { grantedClusterRole, grantedRole, leaseRules, userSubject } from '../../site/rbac.ts';

const secrets = 'karmada-cluster';

/** What is indexed in these tests, as `--index-resources` has it. */
const indexed = ['configmaps', 'pods', 'namespaces', 'deployments.apps'];

/** Karmada's objects for a member: the Cluster, and the Secrets that it names. */
export function karmadaCluster(member: Member, labels: Readonly<Record<string, string>> = {}): readonly object[] {
  const { name, url, caPem, gatewayToken } = member;
  const secret = (suffix: string, stringData: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: name + suffix, namespace: secrets },
    stringData,
  });
  return [
    secret('', { caBundle: caPem, token: 'of-nobody' }),
    secret('-impersonator', { token: gatewayToken }),
    {
      apiVersion: 'cluster.karmada.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, labels },
      spec: {
        syncMode: 'Push',
        apiEndpoint: url,
        provider: 'bare-metal',
        secretRef: { namespace: secrets, name },
        impersonatorSecretRef: { namespace: secrets, name: `${name}-impersonator` },
      },
    },
  ];
}

/** A ResourceRegistry as Karmada's documents have it. */
export function registry(name: string, spec: object): object {
  return { apiVersion: `${group}/v1alpha1`, kind: 'ResourceRegistry', metadata: { name }, spec };
}

/** A role and its binding to a user. */
export function allowed(user: string, name: string, rules: readonly object[]): readonly object[] {
  return grantedClusterRole(name, rules, userSubject(user));
}

/** What the gateway's account needs beside reading Clusters and Secrets. */
function registryAccess(): readonly object[] {
  const name = 'portcullis-karmada-search';
  return [
    ...grantedClusterRole(
      name,
      [
        {
          apiGroups: [group],
          resources: ['resourceregistries', 'resourceregistries/status'],
          verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
        },
      ],
      gatewaySubject,
    ),
    ...grantedRole(secrets, name, leaseRules(name), gatewaySubject),
  ];
}

/** Starts hub, members and gateway, and makes `members` Clusters of Karmada. No registry is made. */
export async function startKarmadaSite(options: HubSiteOptions & { readonly joined?: readonly string[] }) {
  const { joined = options.members ?? ['m1'] } = options;
  const site = await startHubSite({
    ...options,
    groups: [],
    objects: (plane: ControlPlane) => [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: secrets } },
      resourceRegistryDefinition,
      ...registryAccess(),
      ...joined.flatMap((name) => karmadaCluster(plane.member(name), { team: name })),
      // What a person needs on the hub: to ask the search, and to use clusters.
      ...['alice', 'bob'].flatMap((user) => [
        ...allowed(user, `search-${user}`, [
          { apiGroups: [group], resources: ['proxying/proxy'], verbs: ['*'] },
          { apiGroups: [group], resources: ['*'], verbs: ['get', 'list', 'watch'] },
        ]),
        ...allowed(user, `clusters-${user}`, [
          { apiGroups: ['gateway.portcullis.io', 'cluster.karmada.io'], resources: ['clusters/proxy'], verbs: ['*'] },
        ]),
      ]),
    ],
    gateway: {
      ...options.gateway,
      args: ['--karmada-search', 'replace', '--sources', 'karmada', ...(options.gateway?.args ?? [])],
    },
  });
  for (const member of site.members) {
    await member.apply(...allowed('portcullis:index', 'test-index', indexRules(indexed)), ...reviewRights(gatewayUser));
  }
  const [service, api] = aggregationObjects(site.gateway.port, site.authority.certPem, [group]) as Json[];
  await site.hub.apply(service, { ...api, spec: { ...api.spec, versionPriority: 200 } });
  await eventually(
    'the hub sends requests to the gateway',
    async () => (await site.hub.request('GET', `${searchPath}/resourceregistries`)).status === 200,
    { timeoutMs: 30_000, everyMs: 200 },
  );
  return site;
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of a hub, whose shape the tests state
export type Json = any;

/** A condition of a registry, as the hub shows it. */
export async function registryCondition(site: HubSite, name: string, type: string): Promise<Json | undefined> {
  const { status, body } = await site.hub.request('GET', `${searchPath}/resourceregistries/${name}`);
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body).status?.conditions?.find((each: Json) => each.type === type);
}

/** Waits until the index has everything that the registry selects. */
export async function complete(site: HubSite, name: string, clusters: number): Promise<void> {
  const message = clusters === 1 ? '1 cluster' : `${clusters} clusters`;
  let last: Json;
  await eventually(
    `the registry ${name} is complete`,
    async () => {
      last = await registryCondition(site, name, 'Indexed');
      return last?.status === 'True' && last.message === message;
    },
    { timeoutMs: 60_000, everyMs: 200 },
  ).catch((error: unknown) => {
    throw new Error(`${JSON.stringify(last)}\n${site.gateway.log().slice(-3000)}`, { cause: error });
  });
}
