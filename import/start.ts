// Entry point of this folder: elects a leader among all replicas, and runs the controllers in the leader.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { HubClient } from '../cache/hub/hub-types.ts';
import { startClusterControllers } from './cluster-controllers.ts';
import type { ImportedClusters } from './clusters/cluster-facts.ts';
import { defaultLeaseTiming, startElection, type Election } from '../controllers/leader/lease.ts';
import { startPolicyControllers } from './policy-controllers.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';

export interface ImportOptions {
  readonly client: HubClient;
  /**
   * Namespace of the Leases. It is Clusterpedia's own, so that its controllers and the gateway's never run at the same
   * time.
   */
  readonly namespace: string;
  /** Shard whose PediaClusters this gateway reconciles; '' for PediaClusters without a shard. */
  readonly shardingName: string;
  /** The clusters in the index; undefined when nothing is indexed, and then PediaClusters are not reconciled. */
  readonly clusters: ImportedClusters | undefined;
  readonly log: ControllerLog;
  /** Factor for the times of the Leases: below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

export interface Imports {
  /** Ends the controllers and releases the Leases. */
  close(): Promise<void>;
}

/** Starts at once, without waiting for the hub to answer. */
export function startImports(options: ImportOptions): Imports {
  const { client, namespace, shardingName, clusters, log, timeScale } = options;
  const { durationMs, renewWithinMs, periodMs } = defaultLeaseTiming;
  const identity = `${hostname()}_${randomUUID()}`;
  const elect = (name: string, lead: () => () => void): Election => {
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
  // The Leases have the names that Clusterpedia's own components use.
  const elections = [elect('clusterpedia-controller-manager', () => startPolicyControllers({ client, log }))];
  if (clusters !== undefined) {
    const name = `clusterpedia-clustersynchro-manager${shardingName === '' ? '' : `-${shardingName}`}`;
    elections.push(elect(name, () => startClusterControllers({ client, log, clusters, shardingName })));
  }
  return { close: async () => void (await Promise.all(elections.map((election) => election.close()))) };
}
