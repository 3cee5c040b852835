// Entry point of this folder: elects a leader among all replicas, and reconciles ClusterJoins in the leader.
import { startLed } from '../controllers/leader/elected.ts';
import type { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import { clusterJoins } from './object/cluster-join.ts';
import { Joins, type JoinNumbers, type JoinsOptions } from './joins.ts';

export interface ClusterJoinsOptions extends JoinsOptions {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Collects the faults of Leases; it is called when the Lease cannot be used, and when it can be used again. */
  readonly leases: LeaseFaults;
}

export interface ClusterJoins {
  /** The numbers for the metrics; undefined while another replica is the leader. */
  numbers(): JoinNumbers | undefined;
  /** Stops the controller and releases the Lease. */
  close(): Promise<void>;
}

/** Starts the election and returns at once; requests to the hub follow in the background. */
export function startClusterJoins(options: ClusterJoinsOptions): ClusterJoins {
  const awaited = [{ type: clusterJoins, condition: 'Ready' }];
  const led = startLed({ ...options, what: 'join', awaited }, () => new Joins(options));
  return { numbers: () => led.current()?.numbers(), close: () => led.close() };
}
