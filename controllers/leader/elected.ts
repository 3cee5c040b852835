// Runs a controller in one replica of the gateway: the replica that holds a Lease.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ApiClient } from '../../kube/types.ts';
import type { ControllerLog } from '../queue/logged-queue.ts';
import type { LeaseFaults } from './lease-faults.ts';
import { startLeaseNotice, type AwaitedObjects } from './lease-notice.ts';
import { defaultLeaseTiming, startElection, type Election } from './lease.ts';

export interface ElectedOptions {
  readonly client: ApiClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly log: ControllerLog;
  /** Text with which each log message begins, such as `join`. */
  readonly what: string;
  /**
   * Called when this replica gets the Lease; starts the controller. The function that it returns stops the controller.
   */
  readonly lead: () => () => void;
  /** Collects the faults of Leases; it is called when the Lease cannot be used, and when it can be used again. */
  readonly leases: LeaseFaults;
  /**
   * Objects that get a condition while the Lease cannot be used, since their controller then does nothing about them.
   * Default: none.
   */
  readonly awaited?: readonly AwaitedObjects[];
  /** Factor for the durations of the Lease; below 1 in tests, otherwise 1. */
  readonly timeScale?: number;
}

/**
 * Returns at once, without waiting for the hub to answer. `close` of the result stops the controller and releases the
 * Lease.
 */
export function startElected(options: ElectedOptions): Election {
  const { client, lease, log, what, lead, leases, awaited = [], timeScale = 1 } = options;
  const { durationMs, renewWithinMs, periodMs } = defaultLeaseTiming;
  const identity = `${hostname()}_${randomUUID()}`;
  const name = `${lease.namespace}/${lease.name}`;
  let notices: (() => void)[] = [];
  const endNotices = (): void => {
    for (const end of notices) end();
    notices = [];
  };
  const beginNotices = (fault: string): void => {
    const message = `no gateway does anything about this, because the Lease ${name} cannot be used: ${fault}`;
    const onError = (error: unknown): void =>
      log.warn(
        { lease: name, err: error },
        `${what}: a Lease cannot be used, and writing this as a condition into the status of an object failed, too`,
      );
    const patienceMs = durationMs * timeScale;
    notices = awaited.map((each) => startLeaseNotice({ client, awaited: each, message, patienceMs, onError }));
  };
  const election = startElection({
    client,
    ...lease,
    identity,
    lead,
    timing: {
      durationMs: durationMs * timeScale,
      renewWithinMs: renewWithinMs * timeScale,
      periodMs: periodMs * timeScale,
    },
    onLeader: (holder) =>
      log.info({ lease: name, leads: holder === identity, holder }, `${what}: the holder of a Lease`),
    onFault: (fault) => {
      leases.set(name, what, fault);
      endNotices();
      if (fault !== undefined) beginNotices(fault);
      if (fault === undefined) log.info({ lease: name }, `${what}: a Lease can be used again`);
      else log.warn({ lease: name, fault }, `${what}: a Lease cannot be used; nothing is written meanwhile`);
    },
  });
  return {
    close: async () => {
      await election.close();
      endNotices();
    },
  };
}

/** A part of the gateway that runs only in the replica that holds a Lease. */
export interface Led<Part> {
  /** The part; undefined while another replica holds the Lease. */
  current(): Part | undefined;
  /** Closes the part and releases the Lease. */
  close(): Promise<void>;
}

/**
 * Does the same as {@link startElected}, and gives other code access to the running part. @param make called when this
 * replica becomes the leader; makes the part
 */
export function startLed<Part extends { close(): void }>(
  options: Omit<ElectedOptions, 'lead'>,
  make: () => Part,
): Led<Part> {
  let part: Part | undefined;
  const lead = (): (() => void) => {
    const made = make();
    part = made;
    return () => {
      part = undefined;
      made.close();
    };
  };
  const election = startElected({ ...options, lead });
  return { current: () => part, close: () => election.close() };
}
