// The sources of a hub by name, each with the narrowest watches it needs. `ocm` and `cluster-gateway` together are one
// source, at the position of the first of them; as two they would compete for every name.
import type { HubSource } from '../../hub/hub-types.ts';
import type { ProxyAddress } from '../../model/records.ts';
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

export interface HubSourceOptions extends Partial<AllowedExec> {
  /** In order of precedence; other names (`kubeconfig`) are skipped, repeated ones count once. */
  readonly names: readonly string[];
  /** Namespace of cluster-gateway's Secrets. */
  readonly secretNamespace: string;
  /** Namespaces of the objects of Cluster API, vcluster and Argo CD; empty means all of them. */
  readonly secretNamespaces: readonly string[];
  /** Name of the ManagedServiceAccount whose token Secrets are used. */
  readonly managedServiceAccount: string;
  /** Namespace of Karmada's Secrets, `karmada-cluster` by default. */
  readonly karmadaNamespace?: string;
  /**
   * konnectivity's proxy server (see {@link clusterProxyAddress}); undefined: endpoints of type ClusterProxy cannot be
   * used.
   */
  readonly clusterProxy: ProxyAddress | undefined;
  /** Which PediaClusters are this gateway's; see {@link OwnedPediaClusters}. Undefined: all of them. */
  readonly ownedPediaClusters?: OwnedPediaClusters | undefined;
  /** For plugins: environment, clock, limits, and the signal that ends them with the gateway. */
  readonly exec?: ExecSettings;
}

/** The sources in order of precedence. */
export function makeHubSources(options: HubSourceOptions): readonly HubSource[] {
  const names = [...new Set(options.names)].filter(isHubSource);
  const joined = names.includes('ocm') && names.includes('cluster-gateway');
  const [first] = names.filter((name) => name === 'ocm' || name === 'cluster-gateway');
  return names
    .filter((name) => !joined || name === first || (name !== 'ocm' && name !== 'cluster-gateway'))
    .map((name) => makeOne(name, options, joined && name === first));
}

/** The address of konnectivity's proxy server, spoken to by HTTP CONNECT over mTLS; PEMs, not files. */
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
  if (name === 'karmada') return makeKarmadaSource({ secretNamespace: options.karmadaNamespace ?? 'karmada-cluster' });
  if (name === 'cluster-api') return makeClusterApiSource({ namespaces });
  if (name === 'vcluster') return makeVclusterSource({ namespaces });
  if (name === 'argocd') return makeArgocdSource({ namespaces });
  return makePediaClusterSource(options.ownedPediaClusters);
}
