// Entry point of this folder: for each kind of objects elects a leader among all replicas, and runs the controllers in
// the leader.
import type { ApiClient } from '../kube/types.ts';
import { startClusterControllers } from './cluster-controllers.ts';
import type { ImportedClusters } from './clusters/cluster-facts.ts';
import { startElected } from '../controllers/leader/elected.ts';
import type { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import type { AwaitedObjects } from '../controllers/leader/lease-notice.ts';
import type { Election } from '../controllers/leader/lease.ts';
import { lifecycles, policies } from './hub/objects.ts';
import { startPolicyControllers } from './policy-controllers.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import { collectionStatus, type IndexedCollections } from './collections/collection-status.ts';
import { startProfiles, type ProfilesOptions } from './profiles/publish-profiles.ts';
import { registryStatus, type IndexedRegistries } from './registries/registry-status.ts';
import { startStatusControllers } from '../controllers/status/status-controllers.ts';

/**
 * The objects that the leader's controllers reconcile, each with a condition that its controller sets. An object
 * without the condition is still waiting for a leader.
 */
const awaited: readonly AwaitedObjects[] = [
  { type: policies, condition: 'Reconciling' },
  { type: lifecycles, condition: 'Created' },
];

/** The Lease by which replicas elect the one that writes the status of ResourceRegistries. */
const registryLease = 'portcullis-karmada-search';

export interface ImportOptions {
  readonly client: ApiClient;
  /** Undefined: no controllers of Clusterpedia's objects run. */
  readonly policies?: PolicyImports | undefined;
  /** Undefined: no controller of Karmada's ResourceRegistries runs. */
  readonly registries?: RegistryImports | undefined;
  /** Undefined: the status of CollectionResources is not written. */
  readonly collections?: CollectionImports | undefined;
  /** Undefined: no ClusterProfiles are published. */
  readonly profiles?: ProfileImports | undefined;
  readonly log: ControllerLog;
  /** Is told when a Lease cannot be used. */
  readonly leases: LeaseFaults;
  /** Factor for the durations of the Leases; below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

/** What the controllers of ClusterImportPolicies, PediaClusterLifecycles and PediaClusters need. */
export interface PolicyImports {
  /**
   * Namespace of the Leases. Namespace and names are those of the Leases of Clusterpedia's own components, so that at
   * any time either those components run or these controllers.
   */
  readonly namespace: string;
  /** Shard whose PediaClusters this gateway reconciles; '' for PediaClusters without a shard. */
  readonly shardingName: string;
  /**
   * What the gateway knows of the clusters in the index. Undefined when nothing is indexed; PediaClusters are then not
   * reconciled.
   */
  readonly clusters: ImportedClusters | undefined;
}

/** What the controller of Karmada's ResourceRegistries needs. */
export interface RegistryImports {
  /** Namespace of the Lease. */
  readonly namespace: string;
  readonly indexed: IndexedRegistries;
}

/** What the controller that writes the status of CollectionResources needs. */
export interface CollectionImports {
  /** The Lease by which replicas elect the one that writes the status. */
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly indexed: IndexedCollections;
}

/** What publishing ClusterProfiles needs. */
export interface ProfileImports extends Omit<ProfilesOptions, 'client' | 'log'> {
  /** The Lease by which replicas elect the one that publishes. */
  readonly lease: { readonly namespace: string; readonly name: string };
}

export interface Imports {
  /** Ends the controllers and releases the Leases. */
  close(): Promise<void>;
}

/** Starts the elections and returns at once; requests to the hub follow in the background. */
export function startImports({
  client,
  policies,
  registries,
  collections,
  profiles,
  log,
  leases,
  timeScale,
}: ImportOptions): Imports {
  const elect = (
    namespace: string,
    name: string,
    lead: () => () => void,
    awaited: readonly AwaitedObjects[] = [],
  ): Election =>
    startElected({ client, lease: { namespace, name }, log, what: 'import', lead, leases, awaited, timeScale });
  const elections: Election[] = [];
  if (policies !== undefined) {
    const { namespace, shardingName, clusters } = policies;
    // The names of the Leases are those that Clusterpedia's components use.
    const lead = (): (() => void) => startPolicyControllers({ client, log });
    elections.push(elect(namespace, 'clusterpedia-controller-manager', lead, awaited));
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
  if (profiles !== undefined) {
    const { lease, ...options } = profiles;
    elections.push(elect(lease.namespace, lease.name, () => startProfiles({ ...options, client, log })));
  }
  return { close: async () => void (await Promise.all(elections.map((election) => election.close()))) };
}
