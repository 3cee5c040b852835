// Starts all sources of clusters that the configuration names. When two clusters of the same age have the same name,
// the one whose source comes first in the configuration keeps the name, whichever source answers first. Therefore the
// store is given the order of the sources before any source starts.
import { readFileSync } from 'node:fs';
import { makeAddressRule } from '../../model/address-rule.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { HubSource } from '../../cache/sources/hub-source.ts';
import type { ProxyAddress } from '../../model/records.ts';
import { execLineNote } from '../../cache/sources/objects/allowed-exec.ts';
import { clusterProxyAddress, makeHubSources } from '../../cache/sources/objects/catalogue.ts';
import { storedRegistryVersion } from '../../cache/sources/objects/karmada-registries.ts';
import { startHubSources } from '../../cache/sources/hub/hub.ts';
import { withCheckedAddresses } from '../../cache/sources/hub/address-checks.ts';
import { startKubeconfigSource } from '../../cache/sources/kubeconfig/kubeconfig.ts';
import type { ExecSettings } from '../../cache/sources/kubeconfig/kubeconfig-credential.ts';
import type { SourceProblem, SourceReports } from '../../cache/sources/source.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { Config } from '../../config/configuration.ts';
import type { HubConfig } from '../../config/sections/hub-config.ts';
import type { Log } from '../../lib/log.ts';

/** The sources of clusters (kubeconfig files, objects on the hub) that have been started. */
export interface Sources {
  problems(): readonly SourceProblem[];
  /** True once every source has delivered its clusters for the first time. */
  synced(): boolean;
  close(): void;
}

/**
 * Starts the sources of clusters. When the promise resolves, kubeconfig files have been read; clusters of the hub come
 * later.
 * @throws ConfigurationError (rejects) for a kubeconfig or PEM file that cannot be used
 */
export async function startSources(
  config: Pick<Config, 'kubeconfigs' | 'hub'>,
  store: ClusterStore,
  client: ApiClient | undefined,
  log: Log,
  exec: ExecSettings = {},
): Promise<Sources> {
  const reports: SourceReports = {
    onProblem: ({ file, message }) => log.error({ file, fault: message }, 'a cluster source has a problem'),
    onRecovered: ({ file, message }) => log.info({ file, fault: message }, 'a problem of a cluster source is gone'),
  };
  const { hub } = config;
  const hubSources = hub === undefined || client === undefined ? [] : hubSourcesOf(hub, exec);
  const order = hub?.sources.includes('kubeconfig') === false ? [] : ['kubeconfig'];
  for (const note of hub?.allowExec.map(execLineNote) ?? []) if (note !== undefined) log.warn({}, note);
  const names = hub === undefined ? order : hub.sources;
  for (const name of names) store.apply(name, []);

  const files = order.length === 0 ? [] : config.kubeconfigs;
  const kubeconfigs = await startKubeconfigSource({ files, store, exec, ...reports });
  if (client === undefined || hubSources.length === 0) {
    return { problems: () => kubeconfigs.problems(), synced: () => true, close: () => kubeconfigs.close() };
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'a source of clusters failed');
  const fromHub = startHubSources({ client, sources: hubSources, store, onError, ...reports });
  let synced = false;
  fromHub.synced.then(() => (synced = true)).catch(() => undefined);
  return {
    problems: () => [...kubeconfigs.problems(), ...fromHub.problems()],
    synced: () => synced,
    close() {
      fromHub.close();
      kubeconfigs.close();
    },
  };
}

/**
 * The API version in which a hub stores Karmada's ResourceRegistries, for each value of `--karmada-search`; undefined:
 * they are not read.
 */
const registryVersions = { off: undefined, beside: 'v1alpha1', replace: storedRegistryVersion } as const;

/**
 * Makes the sources that read objects on the hub. Other people write these objects, so cluster addresses in them are
 * checked.
 */
function hubSourcesOf(hub: HubConfig, exec: ExecSettings): readonly HubSource[] {
  const clusterProxy = clusterProxyOf(hub);
  const rule = makeAddressRule(hub.memberAddresses);
  const sources = makeHubSources({
    ...hub,
    names: hub.sources,
    clusterProxy,
    exec,
    ownedPediaClusters: hub.imports,
    registryVersion: registryVersions[hub.karmadaSearch ?? 'off'],
  });
  return sources.map((source) => withCheckedAddresses(source, rule, clusterProxy));
}

/**
 * The proxy of konnectivity with the content of its certificate files; undefined when none is configured.
 * @throws ConfigurationError when a file cannot be read
 */
function clusterProxyOf({ clusterProxy: given }: HubConfig): ProxyAddress | undefined {
  if (given === undefined) return undefined;
  const read = (flag: string, file: string | undefined): string | undefined => {
    try {
      return file === undefined ? undefined : readFileSync(file, 'utf8');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown fault';
      throw new ConfigurationError([{ file: flag, message: `${file} cannot be read: ${code}` }]);
    }
  };
  return clusterProxyAddress({
    host: given.host,
    port: given.port,
    ca: read('--proxy-ca-cert', given.caFile),
    cert: read('--proxy-cert', given.certFile),
    key: read('--proxy-key', given.keyFile),
  });
}
