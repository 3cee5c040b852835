// The door of the room: elects a leader among all replicas, and runs the controllers of import policies there.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { HubClient } from '../cache/hub/hub-types.ts';
import { startElection } from './leader/lease.ts';
import { startPolicyControllers, type ImportLog } from './policy-controllers.ts';

export interface ImportOptions {
  readonly client: HubClient;
  /** Where the Leases are: Clusterpedia's own namespace, so that its components and these controllers take turns. */
  readonly namespace: string;
  readonly log: ImportLog;
}

export interface Imports {
  /** Ends the controllers and gives the Leases back. */
  close(): Promise<void>;
}

/** Clusterpedia's names. */
const policiesLease = 'clusterpedia-controller-manager';

/** Starts at once; the hub is asked in the background. */
export function startImports({ client, namespace, log }: ImportOptions): Imports {
  const identity = `${hostname()}_${randomUUID()}`;
  const election = startElection({
    client,
    namespace,
    name: policiesLease,
    identity,
    lead: () => {
      log.info({ lease: `${namespace}/${policiesLease}` }, 'import policies: this process leads');
      return startPolicyControllers({ client, log });
    },
    onLeader: (holder) => {
      if (holder !== identity) log.info({ holder }, 'import policies: another process leads');
    },
    onFault: (fault) => {
      if (fault === undefined) log.info({}, 'import policies: the Lease can be used');
      else log.warn({ lease: `${namespace}/${policiesLease}`, fault }, 'import policies: the Lease cannot be used');
    },
  });
  return { close: () => election.close() };
}
