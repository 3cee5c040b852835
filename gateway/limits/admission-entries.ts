// The counters, queues and rates of each user and each cluster. When there are many users or clusters, those without
// requests are forgotten, so that callers cannot fill the memory with names they make up.
import type { User } from '../../model/user.ts';
import type { LimitsConfig } from '../../config/sections/limits-config.ts';
import { FairGate } from './fair-gate.ts';
import { TokenBucket } from './token-bucket.ts';

/** When more users or clusters than this are remembered, those without any request or stream are forgotten. */
const rememberedEntries = 10_000;

/** Limits and counters of one user. A gate ({@link FairGate}) limits how many requests run at the same time. */
export interface UserEntry {
  readonly gate: FairGate;
  /** The gates that limit this user's requests to a single cluster, by the cluster's name. */
  readonly gates: Map<string, FairGate>;
  readonly maxInCluster: number;
  readonly bucket: TokenBucket | undefined;
  readonly maxStreams: number;
  /** The user's open streams to each cluster that has any, by the cluster's name; upgrades count as streams, too. */
  readonly streamsIn: Map<string, { streams: number; upgrades: number }>;
  readonly maxStreamsInCluster: number;
  readonly maxQueued: number;
  streams: number;
  /** Number of the user's requests that wait in any queue. */
  queued: number;
}

/** Limits and counters of one cluster. The cluster name '' stands for requests that the gateway answers itself. */
export interface ClusterEntry {
  readonly gate: FairGate;
  streams: number;
}

/** The counters, queues and rates of all users and clusters. */
export class AdmissionEntries {
  readonly #limits: LimitsConfig;
  readonly #nowMs: () => number;
  readonly #users = new Map<string, UserEntry>();
  readonly #clusters = new Map<string, ClusterEntry>();
  #userRoom = rememberedEntries;
  #clusterRoom = rememberedEntries;

  /** @param nowMs returns the milliseconds of a monotonic clock */
  constructor(limits: LimitsConfig, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Number of users that are remembered. */
  get users(): number {
    return this.#users.size;
  }

  user(user: User): UserEntry {
    return this.#users.get(user.name) ?? this.#addUser(user);
  }

  cluster(name: string): ClusterEntry {
    return this.#clusters.get(name) ?? this.#addCluster(name);
  }

  #addUser({ name, groups }: User): UserEntry {
    const users = this.#users;
    const limits = this.#limits;
    if (users.size >= this.#userRoom) {
      for (const [other, { gate, streams, bucket }] of users) {
        if (gate.idle && streams === 0 && (bucket?.isFull(this.#nowMs()) ?? true)) users.delete(other);
      }
      this.#userRoom = Math.max(rememberedEntries, users.size * 2);
    }
    const share = groups.includes('system:unauthenticated') ? limits.anonymousRequests : Infinity;
    const added: UserEntry = {
      gate: new FairGate(Math.min(share, limits.userRequests)),
      gates: new Map(),
      maxInCluster: Math.min(share, limits.userClusterRequests),
      bucket:
        limits.userQps === Infinity ? undefined : new TokenBucket(limits.userQps, limits.userBurst, this.#nowMs()),
      maxStreams: Math.min(share, limits.userStreams),
      streamsIn: new Map(),
      maxStreamsInCluster: Math.min(share, limits.userClusterStreams),
      maxQueued: Math.min(share, limits.userQueued),
      streams: 0,
      queued: 0,
    };
    users.set(name, added);
    return added;
  }

  #addCluster(name: string): ClusterEntry {
    const clusters = this.#clusters;
    if (clusters.size >= this.#clusterRoom) {
      for (const [other, { gate, streams }] of clusters) if (gate.idle && streams === 0) clusters.delete(other);
      this.#clusterRoom = Math.max(rememberedEntries, clusters.size * 2);
    }
    // No limit per cluster applies to the name '', which stands for requests that the gateway answers itself.
    const added: ClusterEntry = {
      gate: new FairGate(name === '' ? Infinity : this.#limits.clusterRequests),
      streams: 0,
    };
    clusters.set(name, added);
    return added;
  }
}

/** The gate that limits one user's requests to one cluster. */
export function gateInCluster({ gates, maxInCluster }: UserEntry, cluster: string): FairGate {
  const known = gates.get(cluster);
  if (known !== undefined) return known;
  // Callers can also name clusters that do not exist, so the number of gates must be limited.
  if (gates.size >= rememberedEntries) {
    for (const [name, gate] of gates) if (gate.idle) gates.delete(name);
  }
  const added = new FairGate(cluster === '' ? Infinity : maxInCluster);
  gates.set(cluster, added);
  return added;
}
