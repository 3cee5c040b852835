// Decides which requests may run, which wait and which are refused (429 with Retry-After), by limits of the gateway, of
// each user and of each cluster. A short request takes a slot at four gates (counters with a queue), always in this
// order: user in the cluster, user, cluster, gateway. It waits in the queue of the first gate that has no free slot.
// However a request ends, its slots become free again.
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { LimitsConfig } from '../../config/sections/limits-config.ts';
import { AdmissionEntries, gateInCluster } from './admission-entries.ts';
import type { UserEntry } from './admission-entries.ts';
import { FairGate } from './fair-gate.ts';
import { WaitingRequest } from './waiting-request.ts';
import type { gone } from './waiting-request.ts';

/** Why a request was refused; used as a label of a metric. */
export type Refusal = 'queue-full' | 'user-queue-full' | 'queue-timeout' | 'rate' | 'streams' | 'memory';

/** Present numbers of requests, for metrics. */
export interface AdmissionStats {
  readonly inFlight: { readonly reading: number; readonly mutating: number; readonly streams: number };
  readonly queued: number;
  readonly users: number;
  readonly refused: ReadonlyMap<Refusal, number>;
}

/** Lets requests run, makes them wait, or refuses them, by the configured limits. */
export type Admission = Pick<AdmissionControl, keyof AdmissionControl>;

/**
 * The most upgraded connections of one user to one cluster: half of those that the connections to a cluster allow
 * (routing/pools/transport.ts), so that one user cannot take them all.
 */
const mostUpgradesOfUser = 512;

/** Decides about the requests of one gateway process. */
export class AdmissionControl {
  readonly #limits: LimitsConfig;
  readonly #nowMs: () => number;
  readonly #entries: AdmissionEntries;
  readonly #reading: FairGate;
  readonly #mutating: FairGate;
  readonly #refused = new Map<Refusal, number>();
  #queued = 0;
  #streams = 0;
  #shedding: string | undefined;

  /** @param nowMs returns the milliseconds of a monotonic clock */
  constructor(limits: LimitsConfig, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#entries = new AdmissionEntries(limits, nowMs);
    this.#reading = new FairGate(limits.requests);
    this.#mutating = new FairGate(limits.mutatingRequests);
  }

  /**
   * Takes the slots of a short request. They become free again when the exchange of `inbound` ends.
   * @param cluster '' for a request that the gateway answers itself
   * @returns undefined when all slots were free; otherwise a promise that resolves with undefined once the slots are
   * taken, or with {@link gone} when the client went away
   * @throws GatewayError TOO_MANY_REQUESTS; the promise rejects with the same error when the request has waited too
   * long
   */
  enter(
    user: User,
    cluster: string,
    isMutating: boolean,
    inbound: Inbound,
  ): undefined | Promise<undefined | typeof gone> {
    const entry = this.#entries.user(user);
    this.#checkUser(entry);
    const ownInCluster = gateInCluster(entry, cluster);
    const own = entry.gate;
    const member = this.#entries.cluster(cluster).gate;
    const all = isMutating ? this.#mutating : this.#reading;
    if (!ownInCluster.open || !own.open || !member.open || !all.open) {
      return this.#wait(user.name, entry, cluster, [ownInCluster, own, member, all], inbound);
    }
    ownInCluster.held += 1;
    own.held += 1;
    member.held += 1;
    all.held += 1;
    inbound.onClose(() => {
      all.leave();
      member.leave();
      own.leave();
      ownInCluster.leave();
    });
    return undefined;
  }

  /**
   * Counts a stream, for example a watch, until it ends. A stream never waits for another to end, since nobody knows
   * when that would be.
   * @throws GatewayError TOO_MANY_REQUESTS when a limit is reached
   */
  enterStream(user: User, cluster: string, inbound: Inbound, isUpgrade = false): void {
    this.#checkUser(this.#entries.user(user));
    inbound.onClose(this.#countStream(user, cluster, isUpgrade));
  }

  /**
   * Takes a slot of one cluster, for a request to many clusters that is running already, or that the gateway has begun
   * to answer itself. It never waits for the slot: otherwise two requests to many clusters could wait for each other's
   * slots for ever.
   * @returns a function that frees the slot
   * @throws GatewayError TOO_MANY_REQUESTS when a limit is reached
   */
  enterMember(user: User, cluster: string, kind: 'request' | 'stream' | 'upgrade'): () => void {
    if (kind !== 'request') return this.#countStream(user, cluster, kind === 'upgrade');
    const member = this.#entries.cluster(cluster);
    const own = gateInCluster(this.#entries.user(user), cluster);
    if (!own.open || !member.gate.open) {
      throw this.#refuse('queue-full', 'too many requests to it are running; try again later', cluster);
    }
    own.held += 1;
    member.gate.held += 1;
    return () => {
      member.gate.leave();
      own.leave();
    };
  }

  /** Counts a stream; the returned function ends it. @throws GatewayError TOO_MANY_REQUESTS when a limit is reached */
  #countStream(user: User, cluster: string, isUpgrade: boolean): () => void {
    const entry = this.#entries.user(user);
    const member = this.#entries.cluster(cluster);
    const inCluster = entry.streamsIn.get(cluster) ?? { streams: 0, upgrades: 0 };
    this.#checkStreams(entry, cluster, member.streams, inCluster, isUpgrade);
    const count = (by: 1 | -1): void => {
      this.#streams += by;
      entry.streams += by;
      member.streams += by;
      inCluster.streams += by;
      if (isUpgrade) inCluster.upgrades += by;
    };
    count(1);
    entry.streamsIn.set(cluster, inCluster);
    return () => {
      count(-1);
      if (inCluster.streams === 0 && entry.streamsIn.get(cluster) === inCluster) entry.streamsIn.delete(cluster);
    };
  }

  #checkStreams(
    { streams, maxStreams, maxStreamsInCluster }: UserEntry,
    cluster: string,
    clusterStreams: number,
    inCluster: { readonly streams: number; readonly upgrades: number },
    isUpgrade: boolean,
  ): void {
    const limits = this.#limits;
    const to = `to cluster "${cluster}"`;
    if (this.#streams >= limits.streams) {
      throw this.#refuse(
        'streams',
        `too many streams (watches, logs, exec) are open at this gateway (${limits.streams}); try again later`,
      );
    }
    if (streams >= maxStreams) {
      throw this.#refuse(
        'streams',
        `too many streams of this user are open (${maxStreams}): close some watches, logs or exec sessions`,
      );
    }
    if (cluster === '') return;
    if (inCluster.streams >= maxStreamsInCluster) {
      const why = `too many streams of this user ${to} are open (${maxStreamsInCluster}): close some of them`;
      throw this.#refuse('streams', why, cluster);
    }
    if (isUpgrade && inCluster.upgrades >= mostUpgradesOfUser) {
      const why = `too many exec sessions and other upgraded connections of this user ${to} are open (${mostUpgradesOfUser})`;
      throw this.#refuse('streams', why, cluster);
    }
    if (clusterStreams >= limits.clusterStreams) {
      const why = `too many streams (watches, logs, exec) ${to} are open (${limits.clusterStreams}); try again later`;
      throw this.#refuse('streams', why, cluster);
    }
  }

  /** Refuses all new requests with this message, because memory is short; undefined lets requests in again. */
  shed(reason: string | undefined): void {
    this.#shedding = reason;
  }

  stats(): AdmissionStats {
    return {
      inFlight: { reading: this.#reading.held, mutating: this.#mutating.held, streams: this.#streams },
      queued: this.#queued,
      users: this.#entries.users,
      refused: this.#refused,
    };
  }

  /**
   * Refuses the request when memory is short or its user exceeds the rate limit. It runs before any slot is taken.
   * @throws GatewayError TOO_MANY_REQUESTS
   */
  #checkUser({ bucket }: UserEntry): void {
    if (this.#shedding !== undefined) throw this.#refuse('memory', this.#shedding);
    if (bucket === undefined || bucket.take(this.#nowMs())) return;
    throw this.#refuse(
      'rate',
      `too many requests of this user: ${this.#limits.userQps} a second are served; ask again`,
      '',
      Math.max(1, Math.ceil(bucket.untilNextMs(this.#nowMs()) / 1000)),
    );
  }

  #wait(
    user: string,
    entry: UserEntry,
    cluster: string,
    gates: readonly FairGate[],
    inbound: Inbound,
  ): Promise<undefined | typeof gone> {
    const { queued, queueTimeoutMs: timeoutMs } = this.#limits;
    if (this.#queued >= queued) {
      throw this.#refuse('queue-full', 'too many requests wait in this gateway already; try again later', cluster);
    }
    if (entry.queued >= entry.maxQueued) {
      throw this.#refuse('user-queue-full', 'too many requests of this user wait already; try again later', cluster);
    }
    this.#queued += 1;
    entry.queued += 1;
    const waiting = new WaitingRequest({
      user,
      gates,
      timeoutMs,
      onSettled: () => {
        this.#queued -= 1;
        entry.queued -= 1;
      },
      timedOut: () =>
        this.#refuse(
          'queue-timeout',
          `the request waited ${timeoutMs / 1000} s and could not be started; try again later`,
          cluster,
        ),
    });
    inbound.onClose(() => waiting.close());
    waiting.start();
    return waiting.turn;
  }

  #refuse(why: Refusal, message: string, cluster = '', retryAfterSeconds = 1): GatewayError {
    this.#refused.set(why, (this.#refused.get(why) ?? 0) + 1);
    return new GatewayError('TOO_MANY_REQUESTS', message, {
      retryAfterSeconds,
      ...(cluster === '' ? {} : { cluster }),
    });
  }
}
