// Decides who may have a request or a stream under way and who waits, by bounds of the gateway, of each user and of
// each cluster. A short request takes four seats, always in this order: of its user in its cluster, of its user, of its
// cluster and of the gateway. It waits in the fair queue of the first bound that is full. Every ending gives its seats
// back, and a request that need not wait costs a few counters.
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { LimitsConfig } from '../config/limits-config.ts';
import { AdmissionEntries, gateInCluster } from './admission-entries.ts';
import type { UserEntry } from './admission-entries.ts';
import { FairGate } from './fair-gate.ts';
import { WaitingRequest } from './waiting-request.ts';
import type { gone } from './waiting-request.ts';

/** Why a request was refused; a label of the metric. */
export type Refusal = 'queue-full' | 'user-queue-full' | 'queue-timeout' | 'rate' | 'streams' | 'memory';

/** Counts, read when metrics are scraped. */
export interface AdmissionStats {
  readonly inFlight: { readonly reading: number; readonly mutating: number; readonly streams: number };
  readonly queued: number;
  readonly users: number;
  readonly refused: ReadonlyMap<Refusal, number>;
}

/** See the file comment. */
export interface Admission {
  /**
   * Takes the seats of a short request until its exchange is over.
   * @param cluster '' for what the gateway answers itself
   * @returns undefined when all seats were free; else a promise of them, or of {@link gone}
   * @throws GatewayError TOO_MANY_REQUESTS (also by rejecting, when the wait was too long)
   */
  enter(user: User, cluster: string, mutating: boolean, inbound: Inbound): undefined | Promise<undefined | typeof gone>;
  /** The same for a stream. It never waits, since nobody knows when another stream ends. */
  enterStream(user: User, cluster: string, inbound: Inbound): void;
  /**
   * Takes a seat in one of the clusters that a request already let in asks (`*`). It never waits: the request holds
   * seats of its user and the gateway, and a request that waits for those may hold one of this cluster.
   * @returns gives the seat back
   * @throws GatewayError TOO_MANY_REQUESTS
   */
  enterMember(user: User, cluster: string, isStream: boolean): () => void;
  /** Refuses everything new with this text; undefined lets requests in again. */
  shed(reason: string | undefined): void;
  stats(): AdmissionStats;
}

/** The admission of one gateway. */
export class AdmissionControl implements Admission {
  readonly #limits: LimitsConfig;
  readonly #nowMs: () => number;
  readonly #entries: AdmissionEntries;
  readonly #reading: FairGate;
  readonly #mutating: FairGate;
  readonly #refused = new Map<Refusal, number>();
  #queued = 0;
  #streams = 0;
  #shedding: string | undefined;

  /** @param nowMs monotonic milliseconds */
  constructor(limits: LimitsConfig, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#entries = new AdmissionEntries(limits, nowMs);
    this.#reading = new FairGate(limits.requests);
    this.#mutating = new FairGate(limits.mutatingRequests);
  }

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

  enterStream(user: User, cluster: string, inbound: Inbound): void {
    const limits = this.#limits;
    const entry = this.#entries.user(user);
    this.#checkUser(entry);
    const member = this.#entries.cluster(cluster);
    if (this.#streams >= limits.streams) {
      throw this.#refuse('streams', `too many streams are open at this gateway (${limits.streams}); ask again later`);
    }
    if (entry.streams >= entry.maxStreams) {
      throw this.#refuse('streams', `too many streams of this user are open (${entry.maxStreams}); close some of them`);
    }
    if (cluster !== '' && member.streams >= limits.clusterStreams) {
      throw this.#refuse(
        'streams',
        `too many streams to cluster "${cluster}" are open (${limits.clusterStreams}); ask again later`,
        cluster,
      );
    }
    this.#streams += 1;
    entry.streams += 1;
    member.streams += 1;
    inbound.onClose(() => {
      this.#streams -= 1;
      entry.streams -= 1;
      member.streams -= 1;
    });
  }

  enterMember(user: User, cluster: string, isStream: boolean): () => void {
    const member = this.#entries.cluster(cluster);
    if (isStream) {
      const { clusterStreams } = this.#limits;
      if (member.streams >= clusterStreams) {
        throw this.#refuse('streams', `too many streams to it are open (${clusterStreams})`, cluster);
      }
      member.streams += 1;
      return () => void (member.streams -= 1);
    }
    const own = gateInCluster(this.#entries.user(user), cluster);
    if (!own.open || !member.gate.open) {
      throw this.#refuse('queue-full', 'too many requests to it are under way', cluster);
    }
    own.held += 1;
    member.gate.held += 1;
    return () => {
      member.gate.leave();
      own.leave();
    };
  }

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

  /** Memory and the user's rate, before anything is counted. */
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
      throw this.#refuse('queue-full', 'too many requests wait for the gateway already; ask again', cluster);
    }
    if (entry.queued >= entry.maxQueued) {
      throw this.#refuse('user-queue-full', 'too many requests of this user wait already; ask again', cluster);
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
          `the request waited ${timeoutMs / 1000} s and its turn did not come; ask again later`,
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
