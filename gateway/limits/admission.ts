// Who may have a request or a stream under way, and who waits for it: bounds of the whole gateway, of each user and of
// each cluster. A short request takes a place of its user in its cluster, of its user, of its cluster and of the
// gateway, always in this order, and waits in the fair queue of the first that is full. Easy to get wrong: a place must
// come back in every ending, and whoever is let through at once must cost next to nothing.
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import { FairGate } from './fair-gate.ts';
import type { Waiting } from './fair-gate.ts';
import type { LimitsConfig } from '../config/limits-config.ts';
import { TokenBucket } from './token-bucket.ts';

/** Why a request was refused; a label of the metric. */
export type Refusal = 'queue-full' | 'user-queue-full' | 'queue-timeout' | 'rate' | 'streams' | 'memory';

/** What is counted at scrape time. */
export interface AdmissionStats {
  readonly inFlight: { readonly reading: number; readonly mutating: number; readonly streams: number };
  readonly queued: number;
  readonly users: number;
  readonly refused: ReadonlyMap<Refusal, number>;
}

/** The client went away before its turn came. */
export const gone = Symbol('gone');

/** See the file comment. */
export interface Admission {
  /**
   * Takes a place for a short request until its exchange is over.
   * @param cluster '' for what the gateway answers itself
   * @returns undefined when it was free; else a promise of it, or of {@link gone}
   * @throws GatewayError TOO_MANY_REQUESTS (also by rejecting, when the wait was too long)
   */
  enter(user: User, cluster: string, mutating: boolean, inbound: Inbound): undefined | Promise<undefined | typeof gone>;
  /** The same for what may stay open; it never waits, since nobody knows when another stream ends. */
  enterStream(user: User, cluster: string, inbound: Inbound): void;
  /**
   * A place in one of the clusters that a request already let in asks (`*`). It never waits: it holds places of its
   * user and the gateway meanwhile, for which others wait who hold one of this cluster.
   * @returns what gives it back
   * @throws GatewayError TOO_MANY_REQUESTS
   */
  enterMember(user: User, cluster: string, isStream: boolean): () => void;
  /** From now on, or no longer, everything new is refused with this text. */
  shed(reason: string | undefined): void;
  stats(): AdmissionStats;
}

/** Entries of users or clusters that hold nothing are dropped when there are so many. */
const rememberedEntries = 10_000;

interface UserEntry {
  readonly gate: FairGate;
  /** Of its requests to one cluster each, by the cluster's name. */
  readonly gates: Map<string, FairGate>;
  readonly maxInCluster: number;
  readonly bucket: TokenBucket | undefined;
  readonly maxStreams: number;
  readonly maxQueued: number;
  streams: number;
  /** Requests waiting in any of the queues. */
  queued: number;
}

interface ClusterEntry {
  readonly gate: FairGate;
  streams: number;
}

/** @param nowMs monotonic milliseconds */
export function makeAdmission(limits: LimitsConfig, nowMs: () => number = () => performance.now()): Admission {
  const reading = new FairGate(limits.requests);
  const mutating = new FairGate(limits.mutatingRequests);
  const users = new Map<string, UserEntry>();
  const clusters = new Map<string, ClusterEntry>();
  const refused = new Map<Refusal, number>();
  let queued = 0;
  let streams = 0;
  let shedding: string | undefined;
  let userRoom = rememberedEntries;
  let clusterRoom = rememberedEntries;

  const userEntry = (user: User): UserEntry => {
    const known = users.get(user.name);
    if (known !== undefined) return known;
    if (users.size >= userRoom) {
      for (const [name, entry] of users) {
        if (entry.gate.idle && entry.streams === 0 && (entry.bucket?.isFull(nowMs()) ?? true)) users.delete(name);
      }
      userRoom = Math.max(rememberedEntries, users.size * 2);
    }
    const share = user.groups.includes('system:unauthenticated') ? limits.anonymousRequests : Infinity;
    const made: UserEntry = {
      gate: new FairGate(Math.min(share, limits.userRequests)),
      gates: new Map(),
      maxInCluster: Math.min(share, limits.userClusterRequests),
      bucket: limits.userQps === Infinity ? undefined : new TokenBucket(limits.userQps, limits.userBurst, nowMs()),
      maxStreams: Math.min(share, limits.userStreams),
      maxQueued: Math.min(share, limits.userQueued),
      streams: 0,
      queued: 0,
    };
    users.set(user.name, made);
    return made;
  };
  const gateInCluster = ({ gates, maxInCluster }: UserEntry, cluster: string): FairGate => {
    const known = gates.get(cluster);
    if (known !== undefined) return known;
    // Names of clusters that do not exist come here, too.
    if (gates.size >= rememberedEntries) {
      for (const [name, gate] of gates) if (gate.idle) gates.delete(name);
    }
    const made = new FairGate(cluster === '' ? Infinity : maxInCluster);
    gates.set(cluster, made);
    return made;
  };
  const clusterEntry = (name: string): ClusterEntry => {
    const known = clusters.get(name);
    if (known !== undefined) return known;
    if (clusters.size >= clusterRoom) {
      for (const [other, entry] of clusters) {
        if (entry.gate.idle && entry.streams === 0) clusters.delete(other);
      }
      clusterRoom = Math.max(rememberedEntries, clusters.size * 2);
    }
    // What the gateway answers itself is not bounded as if it were one cluster.
    const made: ClusterEntry = { gate: new FairGate(name === '' ? Infinity : limits.clusterRequests), streams: 0 };
    clusters.set(name, made);
    return made;
  };

  const refuse = (why: Refusal, message: string, cluster = '', retryAfterSeconds = 1): GatewayError => {
    refused.set(why, (refused.get(why) ?? 0) + 1);
    return new GatewayError('TOO_MANY_REQUESTS', message, {
      retryAfterSeconds,
      ...(cluster === '' ? {} : { cluster }),
    });
  };
  /** What is asked before anything is counted. */
  const refuseNow = (entry: UserEntry): void => {
    if (shedding !== undefined) throw refuse('memory', shedding);
    const { bucket } = entry;
    if (bucket === undefined || bucket.take(nowMs())) return;
    throw refuse(
      'rate',
      `too many requests of this user: ${limits.userQps} a second are served; ask again`,
      '',
      Math.max(1, Math.ceil(bucket.untilNextMs(nowMs()) / 1000)),
    );
  };

  const wait = (
    user: string,
    entry: UserEntry,
    cluster: string,
    gates: readonly FairGate[],
    inbound: Inbound,
  ): Promise<undefined | typeof gone> => {
    if (queued >= limits.queued) {
      throw refuse('queue-full', 'too many requests wait for the gateway already; ask again', cluster);
    }
    if (entry.queued >= entry.maxQueued) {
      throw refuse('user-queue-full', 'too many requests of this user wait already; ask again', cluster);
    }
    const { promise, resolve, reject } = Promise.withResolvers<undefined | typeof gone>();
    queued += 1;
    entry.queued += 1;
    let taken = 0;
    let settled = false;
    const giveBack = (): void => {
      // Backwards: whoever gets the gateway's place may need none of the others.
      for (let i = taken - 1; i >= 0; i--) gates[i]!.leave();
      taken = 0;
    };
    const settle = (): void => {
      settled = true;
      clearTimeout(timer);
      queued -= 1;
      entry.queued -= 1;
    };
    const next = (): void => {
      while (taken < gates.length) {
        const gate = gates[taken]!;
        if (!gate.open) {
          gate.wait(waiting);
          return;
        }
        gate.held += 1;
        taken += 1;
      }
      settle();
      resolve(undefined);
    };
    const waiting: Waiting = {
      user,
      enter() {
        // The place was handed over, still counted as held.
        taken += 1;
        next();
      },
    };
    const withdraw = (): void => {
      gates[taken]?.withdraw(waiting);
      settle();
      giveBack();
    };
    const timer = setTimeout(() => {
      withdraw();
      reject(
        refuse('queue-timeout', `no place was free within ${limits.queueTimeoutMs / 1000} s; ask again later`, cluster),
      );
    }, limits.queueTimeoutMs).unref();
    inbound.onClose(() => {
      if (settled) {
        giveBack();
        return;
      }
      withdraw();
      resolve(gone);
    });
    next();
    return promise;
  };
  return {
    enter(user, cluster, isMutating, inbound) {
      const entry = userEntry(user);
      refuseNow(entry);
      const ownInCluster = gateInCluster(entry, cluster);
      const own = entry.gate;
      const member = clusterEntry(cluster).gate;
      const all = isMutating ? mutating : reading;
      if (!ownInCluster.open || !own.open || !member.open || !all.open) {
        return wait(user.name, entry, cluster, [ownInCluster, own, member, all], inbound);
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
    },
    enterStream(user, cluster, inbound) {
      const entry = userEntry(user);
      refuseNow(entry);
      const member = clusterEntry(cluster);
      if (streams >= limits.streams) {
        throw refuse('streams', `too many streams are open at this gateway (${limits.streams}); ask again later`);
      }
      if (entry.streams >= entry.maxStreams) {
        throw refuse('streams', `too many streams of this user are open (${entry.maxStreams}); close some of them`);
      }
      if (cluster !== '' && member.streams >= limits.clusterStreams) {
        throw refuse(
          'streams',
          `too many streams to cluster "${cluster}" are open (${limits.clusterStreams}); ask again later`,
          cluster,
        );
      }
      streams += 1;
      entry.streams += 1;
      member.streams += 1;
      inbound.onClose(() => {
        streams -= 1;
        entry.streams -= 1;
        member.streams -= 1;
      });
    },
    enterMember(user, cluster, isStream) {
      const member = clusterEntry(cluster);
      if (isStream) {
        if (member.streams >= limits.clusterStreams) {
          throw refuse('streams', `too many streams to it are open (${limits.clusterStreams})`, cluster);
        }
        member.streams += 1;
        return () => void (member.streams -= 1);
      }
      const own = gateInCluster(userEntry(user), cluster);
      if (!own.open || !member.gate.open) {
        throw refuse('queue-full', 'too many requests to it are under way', cluster);
      }
      own.held += 1;
      member.gate.held += 1;
      return () => {
        member.gate.leave();
        own.leave();
      };
    },
    shed: (reason) => void (shedding = reason),
    stats: () => ({
      inFlight: { reading: reading.held, mutating: mutating.held, streams },
      queued,
      users: users.size,
      refused,
    }),
  };
}
