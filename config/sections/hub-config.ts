// The section of the configuration about the hub: where the hub is, which of its objects describe clusters, and whether
// the hub decides what callers may do. In a pod, the hub is the cluster of the pod unless a flag says otherwise, so
// that the Helm chart needs no flag. Outside a pod, there is no hub without a flag.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { withoutDefaultPort } from '../../auth/callers/web-page.ts';
import type { AddressRuleOptions } from '../../model/address-rule.ts';
import { parseRange } from '../../lib/text/ip-address.ts';
import { execLineFault } from '../../cache/sources/objects/allowed-exec.ts';
import type { AllowedExec } from '../../cache/sources/objects/allowed-exec.ts';
import { parseDuration } from '../../lib/duration.ts';
import { collectionsFileFields, readCollectionsConfig } from '../controllers/collections-config.ts';
import type { CollectionsConfig } from '../controllers/collections-config.ts';
import { importFileFields, readImportConfig } from '../controllers/import-config.ts';
import type { ImportConfig } from '../controllers/import-config.ts';
import { joinsFileFields, readJoinsConfig } from '../controllers/joins-config.ts';
import { readTenantsConfig, tenantsFileFields } from '../controllers/tenants-config.ts';
import type { TenantsConfig } from '../controllers/tenants-config.ts';
import type { JoinsConfig } from '../controllers/joins-config.ts';
import { profilesFileFields, readProfilesConfig } from '../controllers/profiles-config.ts';
import type { ProfilesConfig } from '../controllers/profiles-config.ts';
import { readWorksConfig, worksFileFields } from '../controllers/works-config.ts';
import type { WorksConfig } from '../controllers/works-config.ts';
import { sourceNames } from '../values/source-names.ts';
import type { SourceName } from '../values/source-names.ts';
import { definedOf, flagOf, listOf } from '../values/values.ts';
import type { Fault, Given } from '../values/values.ts';

/**
 * The proxy server of konnectivity, through which clusters are reached. The flags for it have cluster-gateway's names.
 * Paths are absolute.
 */
export interface ClusterProxy {
  readonly host: string;
  readonly port: number;
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

/** Settings of the hub for `portcullis serve`. Paths are absolute. */
export interface HubConfig {
  /**
   * Kubeconfig of the hub; when undefined, the hub is the cluster in which this process runs as a pod, reached with its
   * ServiceAccount.
   */
  readonly kubeconfig: string | undefined;
  /** Where clusters come from. Of two equally old clusters with the same name, that of the earlier source gets it. */
  readonly sources: readonly SourceName[];
  /** Namespace of the Secrets that cluster-gateway uses for clusters. */
  readonly secretNamespace: string;
  /** Namespaces of the Secrets of Cluster API, vcluster and Argo CD; empty means all, of Argo CD only `argocd`. */
  readonly secretNamespaces: readonly string[];
  /** Name of the ManagedServiceAccount (OCM) whose token Secrets are used. */
  readonly managedServiceAccount: string;
  /** Namespace of the Secrets that Karmada uses for clusters. */
  readonly karmadaNamespace: string;
  /** Command lines that exec credentials in cluster-gateway's Secrets may run; empty means none. */
  readonly allowExec: readonly string[];
  /** Names of environment variables that exec credentials on the hub may set, to any value. */
  readonly allowExecEnv: readonly string[];
  readonly clusterProxy: ClusterProxy | undefined;
  /** Which addresses of clusters are accepted from objects on the hub, in addition to those accepted by default. */
  readonly memberAddresses: AddressRuleOptions;
  readonly authorizeVerb: 'real' | 'http';
  readonly subpathAuthorization: boolean;
  /** A token must be for one of these audiences; empty means the hub's own audiences. */
  readonly audiences: readonly string[];
  /**
   * Origins (https://HOST:PORT, without default port) under which clients reach the hub's API server; absent means
   * none.
   */
  readonly origins?: readonly string[];
  readonly tokenReviewTtlMs: number;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /**
   * True to serve objects and discovery of the API group cluster.core.oam.dev (of the project cluster-gateway), too.
   */
  readonly clusterGatewayApi: boolean;
  /**
   * The serving certificate that replicas share through a Secret. When undefined, the certificate comes from files, or
   * is signed by a CA that this process makes.
   */
  readonly serving: SharedServing | undefined;
  /**
   * Which program serves Karmada's ResourceRegistries. `beside`: Karmada's own search on the hub. `replace`: the
   * gateway, which also writes their status. Undefined or absent: the gateway does not read ResourceRegistries.
   */
  readonly karmadaSearch?: KarmadaSearch | undefined;
  /**
   * Settings of CollectionResource objects; undefined or absent when these objects define no collections of the index.
   */
  readonly collections?: CollectionsConfig | undefined;
  /** Settings of import policies; undefined or absent when they are off. */
  readonly imports?: ImportConfig | undefined;
  /** Settings of ClusterJoin objects; undefined or absent when clusters cannot join by ClusterJoins. */
  readonly joins?: JoinsConfig | undefined;
  /** Settings of TenantBindings, which grant rights in clusters; undefined or absent when the gateway ignores them. */
  readonly tenants?: TenantsConfig | undefined;
  /** Settings of ClusterProfiles; undefined or absent when none are published. */
  readonly profiles?: ProfilesConfig | undefined;
  /** Settings for executing ManifestWorks; undefined or absent when works are not executed. */
  readonly works?: WorksConfig | undefined;
}

/** The values of `--karmada-search`; {@link HubConfig.karmadaSearch} says what they mean. */
export type KarmadaSearch = 'beside' | 'replace';

/** Settings of a serving certificate that replicas share. gateway/hub/hub-serving.ts uses them. */
export interface SharedServing {
  readonly namespace: string;
  readonly secretName: string;
  /** DNS names and IP addresses for which the certificate is valid. */
  readonly names: readonly string[];
  /** Names of the APIServices whose `caBundle` the gateway keeps up to date. */
  readonly apiServices: readonly string[];
}

const text = z.string().min(1).optional();

/**
 * Schema of the hub settings in the configuration file. Some flags have a second name, which this file does not accept.
 */
export const hubFileFields = {
  hubKubeconfig: z.string().optional(),
  sources: text,
  secretNamespace: text,
  secretNamespaces: text,
  managedServiceAccount: text,
  karmadaNamespace: text,
  karmadaSearch: text,
  allowExec: z.union([z.string().min(1), z.array(z.string().min(1)).readonly()]).optional(),
  allowExecEnv: text,
  allowMemberAddresses: text,
  refuseMemberAddresses: text,
  proxyHost: text,
  proxyPort: text,
  proxyCaCert: text,
  proxyCert: text,
  proxyKey: text,
  authorizeVerb: text,
  subpathAuthorization: z.boolean().optional(),
  apiAudiences: text,
  hubOrigins: text,
  authenticationTokenWebhookCacheTtl: text,
  authorizationWebhookCacheAuthorizedTtl: text,
  authorizationWebhookCacheUnauthorizedTtl: text,
  clusterGatewayApi: z.boolean().optional(),
  servingSecret: text,
  servingNames: text,
  apiServices: text,
  ...collectionsFileFields,
  ...importFileFields,
  ...joinsFileFields,
  ...tenantsFileFields,
  ...profilesFileFields,
  ...worksFileFields,
};

/** Settings of the hub as the operator wrote them, under the names of the flags. */
export type HubInput = Given<typeof hubFileFields> & { readonly authorizeProxySubpath?: boolean };

const hubFlags: ReadonlySet<string> = new Set([
  ...Object.keys(hubFileFields).filter((name) => name !== 'hubKubeconfig'),
  'authorizeProxySubpath',
]);

/** The file in which a pod finds the token of its ServiceAccount. */
export const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

const namespaceForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Checks the settings of the hub; undefined when there is no hub. `fault` is called for each flag that is wrong.
 * @param file settings of the configuration file, with absolute paths
 * @param inPod true when the process runs in a pod. Then the hub is the pod's own cluster, unless `--hub-kubeconfig ""`
 * says that there is none
 * @param environment variables in which a pod finds the address of its cluster
 */
export function readHubConfig(
  flags: HubInput,
  file: HubInput,
  fault: Fault,
  inPod: boolean,
  environment: NodeJS.ProcessEnv = {},
): HubConfig | undefined {
  const given = { ...file, ...definedOf(flags) };
  if (given.hubKubeconfig === '' || (given.hubKubeconfig === undefined && !inPod)) {
    refuseWithoutHub(flags, fault);
    return undefined;
  }
  const duration = (flag: string, value: string | undefined): number => {
    const parsed = parseDuration(value ?? '10s');
    if (parsed === undefined) fault(flag, `"${value}" is not a duration, for example 10s or 1m30s`);
    return parsed ?? 0;
  };
  const { authorizeVerb = 'real' } = given;
  if (authorizeVerb !== 'real' && authorizeVerb !== 'http') fault('--authorize-verb', 'must be "real" or "http"');
  const sources = readSources(given.sources, fault);
  return Object.freeze({
    kubeconfig: given.hubKubeconfig === undefined ? undefined : resolve(given.hubKubeconfig),
    sources,
    ...readNamespaces(given, fault),
    managedServiceAccount: given.managedServiceAccount ?? 'cluster-gateway',
    ...readAllowedExec(given, fault),
    clusterProxy: readClusterProxy(given, fault),
    memberAddresses: {
      allowed: readRanges('--allow-member-addresses', given.allowMemberAddresses, fault),
      refused: readRanges('--refuse-member-addresses', given.refuseMemberAddresses, fault),
    },
    authorizeVerb: authorizeVerb as 'real' | 'http',
    subpathAuthorization: given.subpathAuthorization === true || given.authorizeProxySubpath === true,
    audiences: listOf(given.apiAudiences),
    origins: readOrigins(given.hubOrigins, environment, fault),
    tokenReviewTtlMs: duration('--authentication-token-webhook-cache-ttl', given.authenticationTokenWebhookCacheTtl),
    authorizedTtlMs: duration(
      '--authorization-webhook-cache-authorized-ttl',
      given.authorizationWebhookCacheAuthorizedTtl,
    ),
    unauthorizedTtlMs: duration(
      '--authorization-webhook-cache-unauthorized-ttl',
      given.authorizationWebhookCacheUnauthorizedTtl,
    ),
    clusterGatewayApi: given.clusterGatewayApi ?? true,
    serving: readSharedServing(given, fault),
    karmadaSearch: readKarmadaSearch(given, fault),
    imports: readImportConfig(given, fault),
    collections: readCollectionsConfig(given, fault),
    joins: readJoinsConfig(given, sources, fault),
    tenants: readTenantsConfig(given, fault),
    profiles: readProfilesConfig(given, fault),
    works: readWorksConfig(given, given.hubKubeconfig === undefined, fault),
  });
}

function readNamespaces(
  { secretNamespace, secretNamespaces, karmadaNamespace }: HubInput,
  fault: Fault,
): Pick<HubConfig, 'secretNamespace' | 'secretNamespaces' | 'karmadaNamespace'> {
  const namespaces = listOf(secretNamespaces);
  for (const [flag, values] of [
    ['--secret-namespaces', namespaces],
    ['--secret-namespace', listOf(secretNamespace)],
    ['--karmada-namespace', listOf(karmadaNamespace)],
  ] as const) {
    for (const value of values) if (!namespaceForm.test(value)) fault(flag, `"${value}" is not a namespace name`);
  }
  return {
    secretNamespace: secretNamespace ?? 'open-cluster-management-credentials',
    secretNamespaces: namespaces,
    karmadaNamespace: karmadaNamespace ?? 'karmada-cluster',
  };
}

function readKarmadaSearch({ karmadaSearch: mode, sources }: HubInput, fault: Fault): KarmadaSearch | undefined {
  if (mode === undefined) return undefined;
  if (mode !== 'beside' && mode !== 'replace') {
    fault('--karmada-search', 'must be "beside" or "replace"');
    return undefined;
  }
  if (!readSources(sources, () => undefined).includes('karmada'))
    fault('--karmada-search', 'needs the source karmada; add it to --sources');
  return mode;
}

/**
 * True in a pod with a ServiceAccount. The function looks for the same variable and file as client-go's
 * rest.InClusterConfig.
 */
export function runsInPod(environment: NodeJS.ProcessEnv): boolean {
  return (environment['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(serviceAccountToken);
}

function readAllowedExec({ allowExec = [], allowExecEnv }: HubInput, fault: Fault): AllowedExec {
  const lines = typeof allowExec === 'string' ? [allowExec] : allowExec;
  for (const message of lines.map(execLineFault)) if (message !== undefined) fault('--allow-exec', message);
  const variables = listOf(allowExecEnv);
  for (const name of variables) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      fault('--allow-exec-env', `${JSON.stringify(name)} is no name of an environment variable`);
  }
  return { allowExec: lines, allowExecEnv: variables };
}

function readSources(value: string | undefined, fault: Fault): readonly SourceName[] {
  if (value === undefined) return sourceNames;
  const names = listOf(value);
  for (const name of names) {
    if (!sourceNames.includes(name as SourceName))
      fault('--sources', `"${name}" is no source; there are ${sourceNames.join(', ')}`);
  }
  return names as SourceName[];
}

function readRanges(flag: string, value: string | undefined, fault: Fault): AddressRuleOptions['allowed'] {
  return listOf(value).flatMap((one) => {
    const range = parseRange(one);
    if (range === undefined) fault(flag, `"${one}" is not an address or a range such as 127.0.0.0/8 or fd00::/8`);
    return range ?? [];
  });
}

/**
 * Origins by which pods reach the hub's API server, such as https://kubernetes.default.svc. Browsers outside the
 * cluster do not use them.
 */
const podOrigins = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
  (end) => `https://kubernetes${end}`,
);

/**
 * Origins of the hub: the names that every pod can use, its address in the environment, and those listed in
 * `--hub-origins`.
 */
function readOrigins(
  value: string | undefined,
  { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' }: NodeJS.ProcessEnv,
  fault: Fault,
): readonly string[] {
  const listed = listOf(value);
  for (const one of listed) {
    if (!/^https:\/\/[^\s/?#@*\\]+$/i.test(one))
      fault('--hub-origins', `"${one}" is not an origin such as https://hub.example.com:6443`);
  }
  const inPod = host === '' ? [] : [`https://${host.includes(':') ? `[${host}]` : host}:${port}`];
  return [...podOrigins, ...inPod, ...listed].map(withoutDefaultPort);
}

function readSharedServing(given: HubInput, fault: Fault): HubConfig['serving'] {
  const names = listOf(given.servingNames);
  const apiServices = listOf(given.apiServices);
  if (given.servingSecret === undefined) {
    if (names.length > 0) fault('--serving-names', 'needs --serving-secret');
    if (apiServices.length > 0) fault('--api-services', 'needs --serving-secret');
    return undefined;
  }
  const [namespace = '', secretName = '', ...rest] = given.servingSecret.split('/');
  if (!namespaceForm.test(namespace) || !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(secretName) || rest.length > 0)
    fault('--serving-secret', `"${given.servingSecret}" is not NAMESPACE/NAME`);
  if (names.length === 0)
    fault('--serving-names', '--serving-secret needs the names by which clients reach the gateway, comma-separated');
  return { namespace, secretName, names, apiServices };
}

function readClusterProxy(given: HubInput, fault: Fault): HubConfig['clusterProxy'] {
  if (given.proxyHost === undefined || given.proxyHost === '') return undefined;
  const port = Number(given.proxyPort ?? '8090');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) fault('--proxy-port', 'must be a port number');
  if ((given.proxyCert === undefined) !== (given.proxyKey === undefined))
    fault('--proxy-cert', '--proxy-cert and --proxy-key must be given together');
  const path = (value: string | undefined): string | undefined => (value === undefined ? undefined : resolve(value));
  return {
    host: given.proxyHost,
    port,
    caFile: path(given.proxyCaCert),
    certFile: path(given.proxyCert),
    keyFile: path(given.proxyKey),
  };
}

/**
 * Reports flags about a hub when there is no hub. Such flags would have no effect, although the operator may have meant
 * them to restrict somebody.
 */
function refuseWithoutHub(flags: HubInput, fault: Fault): void {
  for (const [name, value] of Object.entries(flags)) {
    // The source `kubeconfig` is the only one that needs no hub.
    if (!hubFlags.has(name) || value === undefined || (name === 'sources' && value === 'kubeconfig')) continue;
    fault(flagOf(name), 'needs a hub: give --hub-kubeconfig FILE');
  }
}
