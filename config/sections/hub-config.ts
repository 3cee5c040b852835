// The section of the configuration about the hub: where the hub is, which of its objects describe clusters, and whether
// the hub decides what callers may do. In a pod, the hub is the cluster of the pod unless a flag says otherwise, so
// that the Helm chart needs no flag. Outside a pod, there is no hub without a flag.
import { existsSync } from 'node:fs';
import { withoutDefaultPort } from '../../auth/callers/web-page.ts';
import type { AddressRuleOptions } from '../../model/address-rule.ts';
import { parseRange } from '../../lib/text/ip-address.ts';
import { collectionsSettings, readCollectionsConfig } from '../controllers/collections-config.ts';
import type { CollectionsConfig } from '../controllers/collections-config.ts';
import { importSettings, readImportConfig } from '../controllers/import-config.ts';
import type { ImportConfig } from '../controllers/import-config.ts';
import { joinsSettings, readJoinsConfig } from '../controllers/joins-config.ts';
import { readTenantsConfig, tenantsSettings } from '../controllers/tenants-config.ts';
import type { TenantsConfig } from '../controllers/tenants-config.ts';
import type { JoinsConfig } from '../controllers/joins-config.ts';
import { profilesSettings, readProfilesConfig } from '../controllers/profiles-config.ts';
import type { ProfilesConfig } from '../controllers/profiles-config.ts';
import { readWorksConfig, worksSettings } from '../controllers/works-config.ts';
import type { WorksConfig } from '../controllers/works-config.ts';
import { hubDecisionSettings, hubSettings, karmadaSearchSettings } from './hub-settings.ts';
import type { KarmadaSearch } from './hub-settings.ts';
import type { SourceName } from '../settings/source-names.ts';
import { flagOf, readSettings } from '../settings/settings.ts';
import type { Values, Written } from '../settings/settings.ts';

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

/** Settings of a serving certificate that replicas share. gateway/hub/hub-serving.ts uses them. */
export interface SharedServing {
  readonly namespace: string;
  readonly secretName: string;
  /** DNS names and IP addresses for which the certificate is valid. */
  readonly names: readonly string[];
  /** Names of the APIServices whose `caBundle` the gateway keeps up to date. */
  readonly apiServices: readonly string[];
}

/** Names of all settings that have no effect without a hub. */
const needsHub: ReadonlySet<string> = new Set(
  [
    hubSettings,
    hubDecisionSettings,
    karmadaSearchSettings,
    collectionsSettings,
    importSettings,
    joinsSettings,
    tenantsSettings,
    profilesSettings,
    worksSettings,
  ].flatMap((settings) => Object.keys(settings)),
);

/** The file in which a pod finds the token of its ServiceAccount. */
export const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Reads the settings of the hub; undefined when there is no hub. `written.fault` is called for each flag that is wrong.
 * @param inPod true when the process runs in a pod. Then the hub is the pod's own cluster, unless `--hub-kubeconfig ""`
 * says that there is none
 * @param environment variables in which a pod finds the address of its cluster
 */
export function readHubConfig(
  written: Written,
  inPod: boolean,
  environment: NodeJS.ProcessEnv = {},
): HubConfig | undefined {
  const { hubKubeconfig: kubeconfig } = readSettings({ hubKubeconfig: hubSettings.hubKubeconfig }, written);
  if (kubeconfig === '' || (kubeconfig === undefined && !inPod)) {
    refuseWithoutHub(written);
    return undefined;
  }
  const given = readSettings(hubSettings, written);
  const decisions = readSettings(hubDecisionSettings, written);
  const sources = given.sources as readonly SourceName[];
  return Object.freeze({
    kubeconfig,
    sources,
    secretNamespace: given.secretNamespace,
    secretNamespaces: given.secretNamespaces,
    karmadaNamespace: given.karmadaNamespace,
    managedServiceAccount: given.managedServiceAccount,
    allowExec: given.allowExec,
    allowExecEnv: given.allowExecEnv,
    clusterProxy: clusterProxyOf(given, written),
    memberAddresses: {
      allowed: given.allowMemberAddresses.flatMap((one) => parseRange(one) ?? []),
      refused: given.refuseMemberAddresses.flatMap((one) => parseRange(one) ?? []),
    },
    authorizeVerb: decisions.authorizeVerb,
    subpathAuthorization: decisions.subpathAuthorization,
    audiences: decisions.apiAudiences,
    origins: originsOf(decisions.hubOrigins, environment),
    tokenReviewTtlMs: decisions.authenticationTokenWebhookCacheTtl,
    authorizedTtlMs: decisions.authorizationWebhookCacheAuthorizedTtl,
    unauthorizedTtlMs: decisions.authorizationWebhookCacheUnauthorizedTtl,
    clusterGatewayApi: given.clusterGatewayApi,
    serving: servingOf(given, written),
    karmadaSearch: readKarmadaSearch(written, sources),
    imports: readImportConfig(written),
    collections: readCollectionsConfig(written),
    joins: readJoinsConfig(written, sources),
    tenants: readTenantsConfig(written),
    profiles: readProfilesConfig(written),
    works: readWorksConfig(written, kubeconfig === undefined),
  });
}

function readKarmadaSearch(written: Written, sources: readonly SourceName[]): KarmadaSearch | undefined {
  const { karmadaSearch } = readSettings(karmadaSearchSettings, written);
  if (karmadaSearch !== undefined && !sources.includes('karmada'))
    written.fault('--karmada-search', 'needs the source karmada; add it to --sources');
  return karmadaSearch;
}

/**
 * True in a pod with a ServiceAccount. The function looks for the same variable and file as client-go's
 * rest.InClusterConfig.
 */
export function runsInPod(environment: NodeJS.ProcessEnv): boolean {
  return (environment['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(serviceAccountToken);
}

/**
 * Origins by which pods reach the hub's API server, such as https://kubernetes.default.svc. Browsers outside the
 * cluster do not use them.
 */
const podOrigins = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
  (end) => `https://kubernetes${end}`,
);

/** Origins of the hub: the names that every pod can use, its address in the environment, and those that are listed. */
function originsOf(
  listed: readonly string[],
  { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' }: NodeJS.ProcessEnv,
): readonly string[] {
  const inPod = host === '' ? [] : [`https://${host.includes(':') ? `[${host}]` : host}:${port}`];
  return [...podOrigins, ...inPod, ...listed].map(withoutDefaultPort);
}

function servingOf(
  { servingSecret, servingNames: names, apiServices }: Values<typeof hubSettings>,
  { fault }: Written,
): SharedServing | undefined {
  if (servingSecret === undefined) {
    if (names.length > 0) fault('--serving-names', 'needs --serving-secret');
    if (apiServices.length > 0) fault('--api-services', 'needs --serving-secret');
    return undefined;
  }
  if (names.length === 0)
    fault('--serving-names', '--serving-secret needs the names by which clients reach the gateway, comma-separated');
  return { namespace: servingSecret.namespace, secretName: servingSecret.name, names, apiServices };
}

function clusterProxyOf(given: Values<typeof hubSettings>, { fault }: Written): ClusterProxy | undefined {
  const { proxyHost: host = '', proxyPort: port, proxyCaCert: caFile, proxyCert: certFile, proxyKey: keyFile } = given;
  if (host === '') return undefined;
  if ((certFile === undefined) !== (keyFile === undefined))
    fault('--proxy-cert', '--proxy-cert and --proxy-key must be given together');
  return { host, port, caFile, certFile, keyFile };
}

/**
 * Reports flags about a hub when there is no hub. Such flags would have no effect, although the operator may have meant
 * them to restrict somebody.
 */
function refuseWithoutHub({ flags, fault }: Written): void {
  for (const [name, value] of Object.entries(flags)) {
    if (!needsHub.has(name) || name === 'hubKubeconfig' || value === undefined) continue;
    // The source `kubeconfig` is the only one that needs no hub.
    if (name === 'sources' && value === 'kubeconfig') continue;
    fault(flagOf(name), 'needs a hub: give --hub-kubeconfig FILE');
  }
}
