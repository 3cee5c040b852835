// Entry point of this folder: elects a leader among all replicas. The leader executes works, and is the registration
// agent of clusters without one.
import type { ApiObject } from '../kube/types.ts';
import { startReflector } from '../kube/reflector/reflector.ts';
import { startLed } from '../controllers/leader/elected.ts';
import type { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import { hashOfHub } from './inventory/applied-works.ts';
import { manifestWorks } from './work/manifest-work.ts';
import { isExecuted, managedClusters } from './registration/chosen-clusters.ts';
import { Registrations } from './registration/registrations.ts';
import { Works, type WorkNumbers, type WorksOptions } from './works.ts';

export interface ExecutorOptions extends Omit<WorksOptions, 'hubHash' | 'agentId'> {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Collects the faults of Leases; it is called when the Lease cannot be used, and when it can be used again. */
  readonly leases: LeaseFaults;
  /**
   * Address of the hub as the agents in the clusters know it, from which the `hubHash` of AppliedManifestWorks is made.
   */
  readonly hubUrl: string;
  /**
   * Name of this gateway in AppliedManifestWorks, their `agentID`. If undefined, a name is made from the hub's address,
   * which differs from the names that OCM's agents have.
   */
  readonly agentId: string | undefined;
}

export interface WorkExecutor {
  /** Returns numbers for the metrics; undefined while another replica is the leader and executes ManifestWorks. */
  numbers(): WorkNumbers | undefined;
  /** Stops the execution of ManifestWorks and releases the Lease. */
  close(): Promise<void>;
}

/** Starts the election and returns at once; requests to the hub follow in the background. */
export function startWorkExecutor({ lease, hubUrl, agentId, ...options }: ExecutorOptions): WorkExecutor {
  const hubHash = hashOfHub(hubUrl);
  const mark = { hubHash, agentId: agentId ?? `portcullis-${hubHash.slice(0, 16)}` };
  const awaited = [{ type: manifestWorks, condition: 'Applied', choose: () => chosenWorks(options) }];
  const led = startLed({ ...options, lease, what: 'works', awaited }, () => {
    const works = new Works({ ...options, ...mark });
    const registrations = new Registrations(options);
    return {
      numbers: () => works.numbers(),
      close: () => {
        registrations.close();
        works.close();
      },
    };
  });
  return { numbers: () => led.current()?.numbers(), close: () => led.close() };
}

/**
 * Makes a filter for the ManifestWorks of clusters in which the gateway executes works. In other clusters, OCM's agents
 * do.
 */
function chosenWorks({ client, clusterSets, log }: Pick<WorksOptions, 'client' | 'clusterSets' | 'log'>) {
  const clusters = startReflector({
    client,
    resource: managedClusters,
    metadataOnly: true,
    onError: (error) => log.error({ err: error }, 'works: a ManagedCluster could not be handled'),
  });
  return {
    isChosen: ({ metadata: { namespace = '' } }: ApiObject): boolean => {
      const cluster = clusters.objects.get(namespace);
      return cluster !== undefined && isExecuted(cluster, clusterSets);
    },
    close: () => clusters.close(),
  };
}
