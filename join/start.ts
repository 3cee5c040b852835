// Entry point of this folder: elects a leader among all replicas, and looks after ClusterJoins in the leader.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { startElection } from '../controllers/leader/lease.ts';
import { makeHubWriter } from '../controllers/hub/hub-writer.ts';
import { Joins, type JoinsOptions } from './joins.ts';

export interface ClusterJoinsOptions extends Omit<JoinsOptions, 'writer'> {
  readonly lease: { readonly namespace: string; readonly name: string };
}

export interface ClusterJoins {
  /** Ends the controller and releases the Lease. */
  close(): Promise<void>;
}

/** Starts at once, without waiting for the hub to answer. */
export function startClusterJoins({ lease, ...options }: ClusterJoinsOptions): ClusterJoins {
  const { client, log } = options;
  const identity = `${hostname()}_${randomUUID()}`;
  const name = `${lease.namespace}/${lease.name}`;
  const election = startElection({
    client,
    ...lease,
    identity,
    lead: () => {
      const joins = new Joins({ ...options, writer: makeHubWriter(client) });
      return () => joins.close();
    },
    onLeader: (holder) => log.info({ lease: name, leads: holder === identity, holder }, 'join: the holder of a Lease'),
    onFault: (fault) => {
      if (fault === undefined) log.info({ lease: name }, 'join: a Lease can be used');
      else log.warn({ lease: name, fault }, 'join: a Lease cannot be used; nothing is written meanwhile');
    },
  });
  return { close: () => election.close() };
}
