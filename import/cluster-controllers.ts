// Starts the controller of PediaClusters, and the watches that tell it which PediaClusters to reconcile.
import { textAt } from '../lib/objects/json-object.ts';
import type { ApiClient } from '../kube/types.ts';
import type { ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import type { ImportedClusters } from './clusters/cluster-facts.ts';
import { makeClusterController } from './clusters/cluster-controller.ts';
import { clusterGroup } from './definitions/clusterpedia.ts';
import { type ResourceType } from '../kube/objects/objects.ts';
import { pediaClusters } from './hub/objects.ts';
import { Controller } from '../controllers/controller.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';

export interface ClusterControllersOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  readonly clusters: ImportedClusters;
  readonly shardingName: string;
  readonly timing?: Partial<ReflectorTiming>;
}

const syncResources: ResourceType = { group: clusterGroup, version: 'v1alpha2', resource: 'clustersyncresources' };
/**
 * Milliseconds between a change that the gateway notices in a cluster and the reconciliation of its PediaCluster.
 * Changes come in bursts, and one write of the status covers them all.
 */
const gatherMs = 500;

/** Starts the controller of PediaClusters; the returned function stops it. */
export function startClusterControllers(options: ClusterControllersOptions): () => void {
  const { client, log, clusters, timing } = options;
  const controller = new Controller({ client, log, what: 'PediaClusters', timing });
  const waiting = new Map<string, NodeJS.Timeout>();
  const objects = controller.follow(pediaClusters, { onEach: ({ object }) => queue.add(object.metadata.name) });
  const referred = controller.follow(syncResources, {
    onEach: ({ object }) => {
      for (const [name, cluster] of objects.objects)
        if (textAt(cluster, 'spec', 'syncResourcesRefName') === object.metadata.name) queue.add(name);
    },
  });
  const { reconcile } = makeClusterController({
    writer: controller.writer,
    pediaClusters: () => objects.objects,
    syncResources: () => referred.objects,
    clusters,
    shardingName: options.shardingName,
  });
  const queue = controller.queue('PediaCluster', (name) => reconcile(name));
  const addSoon = (name: string): void => {
    if (waiting.has(name)) return;
    const add = (): void => {
      waiting.delete(name);
      queue.add(name);
    };
    waiting.set(name, setTimeout(add, gatherMs).unref());
  };
  controller.atClose(
    clusters.onChange((name) => {
      for (const each of name === undefined ? objects.objects.keys() : [name]) addSoon(each);
    }),
  );
  return () => {
    controller.close();
    for (const timer of waiting.values()) clearTimeout(timer);
  };
}
