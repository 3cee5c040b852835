// The door of the room: elects a leader among all replicas, and runs the controllers there.
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
  /** Where the Leases are: Clusterpedia's own namespace, so that its components and these controllers take turns. */
  readonly namespace: string;
  /** Of the PediaClusters that are this gateway's; '' for those without one. */
  readonly shardingName: string;
  /** Undefined where nothing is indexed: then nobody looks after PediaClusters. */
  readonly clusters: ImportedClusters | undefined;
  readonly log: ControllerLog;
  /** Factor for the Leases' times; below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

export interface Imports {
  /** Ends the controllers and gives the Leases back. */
  close(): Promise<void>;
}

/** Starts at once; the hub is asked in the background. */
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
  // Clusterpedia's names.
  const elections = [elect('clusterpedia-controller-manager', () => startPolicyControllers({ client, log }))];
  if (clusters !== undefined) {
    const name = `clusterpedia-clustersynchro-manager${shardingName === '' ? '' : `-${shardingName}`}`;
    elections.push(elect(name, () => startClusterControllers({ client, log, clusters, shardingName })));
  }
  return { close: async () => void (await Promise.all(elections.map((election) => election.close()))) };
}
