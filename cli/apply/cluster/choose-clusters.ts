// Chooses the clusters that a command works on: by their names, by their labels in the gateway, or all.
import type { Connection } from '../../connection/gateway-connection.ts';
import { clustersPath } from '../../connection/gateway-url.ts';
import { getJson } from '../../connection/http.ts';
import { isJsonObject } from '../../../lib/objects/json-object.ts';
import { Failure, usageFailure } from '../../terminal/failure.ts';

/** Flags that choose clusters. Exactly one must be given, which {@link checkClusterFlags} checks. */
export interface ClusterFlags {
  /** Names of clusters, separated by commas. */
  readonly clusters?: string;
  readonly clusterSelector?: string;
  readonly allClusters?: boolean;
}

/** A cluster as the gateway lists it. */
export interface ChosenCluster {
  readonly name: string;
  /** UID that the gateway gives the cluster. When another cluster gets the same name, it has another UID. */
  readonly uid: string;
}

/**
 * Asks the gateway for the clusters that the flags choose, ordered by name. {@link checkClusterFlags} must have
 * accepted the flags.
 * @throws Failure (rejects) when the gateway refuses, a name is unknown, or no cluster is chosen
 */
export async function chooseClusters(connection: Connection, flags: ClusterFlags): Promise<readonly ChosenCluster[]> {
  const { clusters, clusterSelector } = flags;
  const query = clusterSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(clusterSelector)}`;
  const { items } = await getJson(connection, clustersPath + query, 'application/json');
  const there = (Array.isArray(items) ? items : []).flatMap((item) => {
    const metadata: unknown = isJsonObject(item) ? item['metadata'] : undefined;
    if (!isJsonObject(metadata) || typeof metadata['name'] !== 'string') return [];
    return [{ name: metadata['name'], uid: typeof metadata['uid'] === 'string' ? metadata['uid'] : '' }];
  });
  if (clusters === undefined) {
    if (there.length > 0) return there;
    throw new Failure(
      clusterSelector === undefined ? 'there is no cluster that you may see' : `no cluster has ${clusterSelector}`,
      'See what is there: portcullis get clusters -o yaml',
    );
  }
  const names = new Set(clusters.split(',').map((name) => name.trim()));
  const unknown = [...names].filter((name) => there.every((cluster) => cluster.name !== name));
  if (unknown.length > 0) {
    throw new Failure(
      `no cluster ${unknown.map((name) => `"${name}"`).join(', ')} that you may see`,
      `Clusters there: ${there.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  }
  return there.filter(({ name }) => names.has(name));
}

/** Checks that exactly one of the flags that choose clusters is given. @throws Failure (usage) when not */
export function checkClusterFlags({ clusters, clusterSelector, allClusters }: ClusterFlags): void {
  const given = [clusters !== undefined, clusterSelector !== undefined, allClusters === true].filter(Boolean).length;
  if (given === 1 && clusters !== '' && clusterSelector !== '') return;
  throw usageFailure(
    given > 1 ? '--clusters, --cluster-selector and --all-clusters exclude each other' : 'no cluster is chosen',
    'Give one of --clusters NAME,NAME, --cluster-selector env=prod and --all-clusters.',
  );
}
