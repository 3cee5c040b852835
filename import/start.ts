// Entry point of this folder: elects a leader among all replicas, and runs the controllers in the leader.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { HubClient } from '../cache/hub/hub-types.ts';
import { startClusterControllers } from './cluster-controllers.ts';
import type { ImportedClusters } from './clusters/cluster-facts.ts';
import { defaultLeaseTiming, startElection, type Election } from '../controllers/leader/lease.ts';
import { startPolicyControllers } from './policy-controllers.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import { collectionStatus, type IndexedCollections } from './collections/collection-status.ts';
import { registryStatus, type IndexedRegistries } from './registries/registry-status.ts';
import { startStatusControllers } from './status-controllers.ts';

/** The Lease of the process that writes the status of ResourceRegistries. */
const registryLease = 'portcullis-karmada-search';

export interface ImportOptions {
  readonly client: HubClient;
  /** Undefined: Clusterpedia's objects are not looked after. */
  readonly policies: PolicyImports | undefined;
  /** Undefined: Karmada's ResourceRegistries are not looked after. */
  readonly registries: RegistryImports | undefined;
  /** Undefined: the status of CollectionResources is not written. */
  readonly collections: CollectionImports | undefined;
  readonly log: ControllerLog;
  /** Factor for the Leases' times; below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

/** What Clusterpedia's objects are looked after with. */
export interface PolicyImports {
  /** Where the Leases are: Clusterpedia's own namespace, so that its components and these controllers take turns. */
  readonly namespace: string;
  /** Shard whose PediaClusters this gateway reconciles; '' for PediaClusters without a shard. */
  readonly shardingName: string;
  /** The clusters in the index; undefined when nothing is indexed, and then PediaClusters are not reconciled. */
  readonly clusters: ImportedClusters | undefined;
}

/** What Karmada's ResourceRegistries are looked after with. */
export interface RegistryImports {
  /** Where the Lease is. */
  readonly namespace: string;
  readonly indexed: IndexedRegistries;
}

/** What the status of CollectionResources is written with. */
export interface CollectionImports {
  /** The Lease by which replicas elect the one that writes. */
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly indexed: IndexedCollections;
}

export interface Imports {
  /** Ends the controllers and releases the Leases. */
  close(): Promise<void>;
}

/** Starts at once; the hub is asked in the background. */
export function startImports({ client, policies, registries, collections, log, timeScale }: ImportOptions): Imports {
  const { durationMs, renewWithinMs, periodMs } = defaultLeaseTiming;
  const identity = `${hostname()}_${randomUUID()}`;
  const elect = (namespace: string, name: string, lead: () => () => void): Election => {
    const lease = `${namespace}/${name}`;
    return startElection({
      client,
      namespace,
      name,
      identity,
      lead,
      timing: {
        durationMs: durationMs * timeScale,
        renewWithinMs: renewWithinMs * timeScale,
        periodMs: periodMs * timeScale,
      },
      onLeader: (holder) => log.info({ lease, leads: holder === identity, holder }, 'import: the holder of a Lease'),
      onFault: (fault) => {
        if (fault === undefined) log.info({ lease }, 'import: a Lease can be used');
        else log.warn({ lease, fault }, 'import: a Lease cannot be used; nothing is written meanwhile');
      },
    });
  };
  const elections: Election[] = [];
  if (policies !== undefined) {
    const { namespace, shardingName, clusters } = policies;
    // Clusterpedia's names.
    elections.push(elect(namespace, 'clusterpedia-controller-manager', () => startPolicyControllers({ client, log })));
    if (clusters !== undefined) {
      const name = `clusterpedia-clustersynchro-manager${shardingName === '' ? '' : `-${shardingName}`}`;
      elections.push(elect(namespace, name, () => startClusterControllers({ client, log, clusters, shardingName })));
    }
  }
  if (registries !== undefined) {
    const { namespace, indexed } = registries;
    const subject = registryStatus(indexed);
    elections.push(elect(namespace, registryLease, () => startStatusControllers({ client, log, subject })));
  }
  if (collections !== undefined) {
    const { lease, indexed } = collections;
    const subject = collectionStatus(indexed);
    elections.push(elect(lease.namespace, lease.name, () => startStatusControllers({ client, log, subject })));
  }
  return { close: async () => void (await Promise.all(elections.map((election) => election.close()))) };
}
