// Entry point of this folder: elects a leader among all replicas, and reconciles ClusterJoins in the leader.
import { startElected } from '../controllers/leader/elected.ts';
import type { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import { makeObjectWriter } from '../kube/objects/object-writer.ts';
import { clusterJoins } from './object/cluster-join.ts';
import { Joins, type JoinNumbers, type JoinsOptions } from './joins.ts';

export interface ClusterJoinsOptions extends Omit<JoinsOptions, 'writer'> {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Is told when the Lease cannot be used. */
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
  let joins: Joins | undefined;
  const election = startElected({
    ...options,
    what: 'join',
    awaited: [{ type: clusterJoins, condition: 'Ready' }],
    lead: () => {
      const ended = new AbortController();
      const led = new Joins({ ...options, writer: makeObjectWriter(options.client, ended.signal) });
      joins = led;
      return () => {
        joins = undefined;
        ended.abort();
        led.close();
      };
    },
  });
  return { numbers: () => joins?.numbers(), close: () => election.close() };
}
