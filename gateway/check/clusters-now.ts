// Checks the clusters that the configuration has at present, from files and from the hub, and asks each cluster what
// the gateway's credential may do. The clusters are read by the same code as in `serve`. That code also watches files
// for changes, until it is closed at the end of the check.
import { setTimeout as pause } from 'node:timers/promises';
import { makeHubClient } from '../../kube/client/hub-client.ts';
import { inClusterConnection, readHubKubeconfig } from '../../cache/hub/hub-connection.ts';
import type { HubConnection } from '../../kube/client/connection.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { createClusterStore } from '../../model/store.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeConnections } from '../../routing/members/target.ts';
import { makeTransport, transportParts } from '../../routing/pools/transport.ts';
import type { Config } from '../../config/configuration.ts';
import { makeLog } from '../../lib/log.ts';
import { startSources } from '../parts/sources.ts';
import type { Sources } from '../parts/sources.ts';
import type { CheckOptions } from './weakness.ts';
import { askHub } from './hub.ts';
import { askMember, memberWeaknesses } from './members.ts';
import type { CheckResult, Unread, Weakness } from './weakness.ts';

/** How many milliseconds the hub may take to list its clusters. After this time, the hub is reported in `unread`. */
const hubTimeoutMs = 20_000;
const lookEveryMs = 50;
/** How many clusters are asked at the same time. */
const askedAtOnce = 8;

/**
 * Finds weaknesses of all clusters.
 * @throws ConfigurationError (rejects) for a kubeconfig that cannot be used
 */
export async function clusterFindings(config: Config, options: CheckOptions): Promise<CheckResult> {
  const weaknesses: Weakness[] = [];
  const unread: Unread[] = [];
  const take = (found: CheckResult): void => {
    weaknesses.push(...found.weaknesses);
    unread.push(...found.unread);
  };
  const hub = options.offline || config.hub === undefined ? undefined : await connectHub(config, options.version);
  const log = makeLog('silent');
  const store = createClusterStore({});
  const connections = makeConnections((spec, credential) => makeTransport(transportParts(spec, credential)));
  // When `hub` is undefined, startSources starts only sources that read files.
  const sources = await startSources(config, store, hub?.client, log);
  try {
    if (hub !== undefined) take(await hubFindings(hub.client, sources));
    for (const { file, message } of sources.problems()) unread.push({ where: file, what: message });
    const records = store.list();
    for (const record of records) take(memberWeaknesses(record, options.nowMs));
    // With --identity=self the credential is supposed to have rights of its own, so they are no weakness.
    if (!options.offline && config.identity !== 'self') {
      for (let at = 0; at < records.length; at += askedAtOnce) {
        const some = records.slice(at, at + askedAtOnce);
        const ask = (record: ClusterRecord): Promise<CheckResult> => askMember(record, connections);
        for (const found of await Promise.all(some.map(ask))) take(found);
      }
    }
    return { weaknesses, unread };
  } finally {
    sources.close();
    connections.close('abort');
    hub?.close();
  }
}

async function hubFindings(client: ApiClient, sources: Sources): Promise<CheckResult> {
  try {
    const found = await askHub(client);
    const endMs = performance.now() + hubTimeoutMs;
    while (!sources.synced() && performance.now() < endMs) await pause(lookEveryMs);
    if (sources.synced()) return found;
    const what = `did not tell within ${hubTimeoutMs / 1000} s which clusters there are`;
    return { ...found, unread: [...found.unread, { where: `hub ${client.url}`, what }] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { weaknesses: [], unread: [{ where: `hub ${client.url}`, what: error.message }] };
  }
}

async function connectHub(
  config: Config,
  version: string,
): Promise<{ readonly client: ApiClient; close(): void } | undefined> {
  const file = config.hub?.kubeconfig;
  const connection: HubConnection | undefined =
    file === undefined ? await inClusterConnection(process.env) : await readHubKubeconfig(file);
  if (connection === undefined) return undefined;
  const client = makeHubClient(connection, { version });
  return {
    client,
    close() {
      client.close();
      connection.close();
    },
  };
}
