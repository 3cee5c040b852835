// Makes the sources of a hub by their names. Each watches no more than it needs. When both `ocm` and `cluster-gateway`
// are named, they become one source, because they describe the same clusters and every cluster would have a name
// conflict. The joined source takes the position of the one that is named first.
import type { HubSource } from '../hub-source.ts';
import type { ProxyAddress } from '../../../model/records.ts';
import type { AllowedExec } from './allowed-exec.ts';
import { makeArgocdSource } from './argocd.ts';
import { makeClusterApiSource } from './cluster-api.ts';
import { makeClusterGatewaySource } from './cluster-gateway.ts';
import { makeKarmadaSource } from './karmada.ts';
import { hubSourceNames, type HubSourceName } from '../names.ts';
import { makeOcmSource } from './ocm.ts';
import { makePediaClusterSource, type OwnedPediaClusters } from './pediacluster.ts';
import type { ExecSettings } from '../kubeconfig/kubeconfig-credential.ts';
import { makeVclusterSource } from './vcluster.ts';

/** Which sources to make, and the settings of all of them. */
export interface HubSourceOptions extends Partial<AllowedExec> {
  /**
   * The names of the sources, in order of precedence. Names that are not sources of a hub (`kubeconfig`) are skipped,
   * and repeated names count once.
   */
  readonly names: readonly string[];
  /** Namespace that holds cluster-gateway's Secrets. */
  readonly secretNamespace: string;
  /**
   * Namespaces that hold the objects of Cluster API, vcluster and Argo CD. Empty means all namespaces, of Argo CD only
   * `argocd`.
   */
  readonly secretNamespaces: readonly string[];
  /** Name of the OCM ManagedServiceAccounts whose token Secrets are used. */
  readonly managedServiceAccount: string;
  /** Namespace that holds Karmada's Secrets. Default `karmada-cluster`. */
  readonly karmadaNamespace?: string;
  /** The API version of Karmada's ResourceRegistries on the hub; undefined when ResourceRegistries are not read. */
  readonly registryVersion?: string | undefined;
  /**
   * The proxy server of konnectivity (see {@link clusterProxyAddress}). When undefined, clusters with an endpoint of
   * type ClusterProxy cannot be used.
   */
  readonly clusterProxy: ProxyAddress | undefined;
  /** Which PediaClusters this gateway uses; see {@link OwnedPediaClusters}. Undefined: all of them. */
  readonly ownedPediaClusters?: OwnedPediaClusters | undefined;
  /**
   * Settings for exec plugins: environment, clock, time limit, and the signal that ends them when the gateway stops.
   */
  readonly exec?: ExecSettings;
}

/** Makes the sources that `options.names` names, in order of precedence. */
export function makeHubSources(options: HubSourceOptions): readonly HubSource[] {
  const names = [...new Set(options.names)].filter(isHubSource);
  const joined = names.includes('ocm') && names.includes('cluster-gateway');
  const [first] = names.filter((name) => name === 'ocm' || name === 'cluster-gateway');
  return names
    .filter((name) => !joined || name === first || (name !== 'ocm' && name !== 'cluster-gateway'))
    .map((name) => makeOne(name, options, joined && name === first));
}

/**
 * The address of konnectivity's proxy server. Connections to it use HTTP CONNECT over mutual TLS. `ca`, `cert` and
 * `key` are PEM texts, not file names.
 */
export function clusterProxyAddress(given: {
  readonly host: string;
  readonly port: number;
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}): ProxyAddress {
  const { ca, cert, key } = given;
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  return { scheme: 'https', host: given.host, port: given.port, userinfo: undefined, tls };
}

function isHubSource(name: string): name is HubSourceName {
  return (hubSourceNames as readonly string[]).includes(name);
}

function makeOne(name: HubSourceName, options: HubSourceOptions, joined: boolean): HubSource {
  const { secretNamespace, secretNamespaces: namespaces, clusterProxy, exec = {} } = options;
  const { allowExec = [], allowExecEnv = [] } = options;
  const settings = { clusterProxy, allowExec, allowExecEnv, exec };
  const { managedServiceAccount } = options;
  if (joined && (name === 'ocm' || name === 'cluster-gateway')) {
    return makeOcmSource({ ...settings, managedServiceAccount, secretNamespace, name });
  }
  if (name === 'ocm') return makeOcmSource({ ...settings, managedServiceAccount, secretNamespace: undefined });
  if (name === 'cluster-gateway') return makeClusterGatewaySource({ ...settings, secretNamespace });
  if (name === 'karmada') {
    const { karmadaNamespace: namespace = 'karmada-cluster', registryVersion } = options;
    return makeKarmadaSource({ secretNamespace: namespace, registryVersion });
  }
  if (name === 'cluster-api') return makeClusterApiSource({ namespaces });
  if (name === 'vcluster') return makeVclusterSource({ namespaces });
  if (name === 'argocd') return makeArgocdSource({ namespaces });
  return makePediaClusterSource(options.ownedPediaClusters);
}
