// Entry point of this folder: elects a leader among all replicas, and executes works in the leader.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { startElection } from '../controllers/leader/lease.ts';
import { hashOfHub } from './inventory/applied-works.ts';
import { Works, type WorkNumbers, type WorksOptions } from './works.ts';

export interface ExecutorOptions extends Omit<WorksOptions, 'hubHash' | 'agentId'> {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Address of the hub as clusters know it, from which the `hubHash` of AppliedManifestWorks is made. */
  readonly hubUrl: string;
  /**
   * Name of this executor in AppliedManifestWorks. Undefined: made from the hub's address, and unlike that of OCM's
   * agents.
   */
  readonly agentId: string | undefined;
}

export interface WorkExecutor {
  /** Returns the numbers for the metrics; undefined while another replica executes works. */
  numbers(): WorkNumbers | undefined;
  /** Ends the execution of works and releases the Lease. */
  close(): Promise<void>;
}

/** Starts at once, without waiting for the hub to answer. */
export function startWorkExecutor({ lease, hubUrl, agentId, ...options }: ExecutorOptions): WorkExecutor {
  const { client, log } = options;
  const identity = `${hostname()}_${randomUUID()}`;
  const hubHash = hashOfHub(hubUrl);
  const mark = { hubHash, agentId: agentId ?? `portcullis-${hubHash.slice(0, 16)}` };
  const name = `${lease.namespace}/${lease.name}`;
  let works: Works | undefined;
  const election = startElection({
    client,
    ...lease,
    identity,
    lead: () => {
      const begun = new Works({ ...options, ...mark });
      works = begun;
      return () => {
        works = undefined;
        begun.close();
      };
    },
    onLeader: (holder) => log.info({ lease: name, leads: holder === identity, holder }, 'works: the holder of a Lease'),
    onFault: (fault) => {
      if (fault === undefined) log.info({ lease: name }, 'works: a Lease can be used');
      else log.warn({ lease: name, fault }, 'works: a Lease cannot be used; nothing is executed meanwhile');
    },
  });
  return { numbers: () => works?.numbers(), close: () => election.close() };
}
