// Starts the controller of PediaClusters, and the watches that tell it which PediaClusters to reconcile.
import type { ApiClient } from '../kube/types.ts';
import { startReflector } from '../kube/reflector/reflector.ts';
import type { ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import type { ImportedClusters } from './clusters/cluster-facts.ts';
import { makeClusterController } from './clusters/cluster-controller.ts';
import { clusterGroup } from './definitions/clusterpedia.ts';
import { makeObjectWriter } from '../kube/objects/object-writer.ts';
import { type ResourceType } from '../kube/objects/objects.ts';
import { pediaClusters } from './hub/objects.ts';
import { textAt } from '../kube/objects/objects.ts';
import { makeQueue, type ControllerLog } from '../controllers/queue/logged-queue.ts';

export interface ClusterControllersOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  readonly clusters: ImportedClusters;
  readonly shardingName: string;
  readonly timing?: Partial<ReflectorTiming>;
}

const syncResources: ResourceType = { group: clusterGroup, version: 'v1alpha2', resource: 'clustersyncresources' };
const missingPollMs = 5_000;
/** Longest wait in milliseconds between attempts to list, so a newly granted right is noticed within this time. */
const maxBackoffMs = 5_000;
/**
 * Milliseconds between a change that the gateway notices in a cluster and the reconciliation of its PediaCluster.
 * Changes come in bursts, and one write of the status covers them all.
 */
const gatherMs = 500;

/** Starts the controller of PediaClusters; the returned function stops it. */
export function startClusterControllers(options: ClusterControllersOptions): () => void {
  const { client, log, clusters, timing } = options;
  const waiting = new Map<string, NodeJS.Timeout>();
  const ended = new AbortController();
  const follow = (resource: ResourceType, onNames: (names: readonly string[]) => void) =>
    startReflector({
      client,
      resource,
      timing: { missingPollMs, maxBackoffMs, ...timing },
      onChange: (changes) => onNames(changes.map(({ object }) => object.metadata.name)),
      onState: ({ fault }) => {
        if (fault !== undefined) log.warn({ fault: fault.message }, 'PediaClusters: objects of the hub cannot be read');
      },
      onError: (error) => log.error({ err: error }, 'PediaClusters: an object of the hub could not be handled'),
    });
  const objects = follow(pediaClusters, (names) => {
    for (const name of names) queue.add(name);
  });
  const referred = follow(syncResources, (names) => {
    for (const [name, cluster] of objects.objects) {
      if (names.includes(textAt(cluster, 'spec', 'syncResourcesRefName'))) queue.add(name);
    }
  });
  const controller = makeClusterController({
    writer: makeObjectWriter(client, ended.signal),
    pediaClusters: () => objects.objects,
    syncResources: () => referred.objects,
    clusters,
    shardingName: options.shardingName,
  });
  const queue = makeQueue('PediaCluster', 'import', log, (name) => controller.reconcile(name));
  const addSoon = (name: string): void => {
    if (waiting.has(name)) return;
    const add = (): void => {
      waiting.delete(name);
      queue.add(name);
    };
    waiting.set(name, setTimeout(add, gatherMs).unref());
  };
  const unsubscribe = clusters.onChange((name) => {
    for (const each of name === undefined ? objects.objects.keys() : [name]) addSoon(each);
  });
  return () => {
    ended.abort();
    unsubscribe();
    queue.close();
    for (const timer of waiting.values()) clearTimeout(timer);
    objects.close();
    referred.close();
  };
}
