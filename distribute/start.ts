// The door of the room: elects a leader among all replicas, and executes works there.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { startElection } from '../controllers/leader/lease.ts';
import { hashOfHub } from './inventory/applied-works.ts';
import { Works, type WorkNumbers, type WorksOptions } from './works.ts';

export interface ExecutorOptions extends Omit<WorksOptions, 'hubHash' | 'agentId'> {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Address of the hub as clusters see it. */
  readonly hubUrl: string;
  /** Undefined: made of the hub's address, and another one than OCM's own agents have. */
  readonly agentId: string | undefined;
}

export interface WorkExecutor {
  /** Undefined while another replica executes. */
  numbers(): WorkNumbers | undefined;
  /** Ends the execution and gives the Lease back. */
  close(): Promise<void>;
}

/** Starts at once; the hub is asked in the background. */
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
