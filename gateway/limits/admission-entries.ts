// What admission remembers of each user and each cluster: their gates, rates and counts. Entries that hold nothing are
// dropped when there are many, so that names made up by callers do not fill the memory.
import type { User } from '../../cache/model/user.ts';
import type { LimitsConfig } from '../config/limits-config.ts';
import { FairGate } from './fair-gate.ts';
import { TokenBucket } from './token-bucket.ts';

/** Entries of users or clusters that hold nothing are dropped when there are so many. */
const rememberedEntries = 10_000;

/** One user. */
export interface UserEntry {
  readonly gate: FairGate;
  /** Gates of its requests to one cluster each, by the cluster's name. */
  readonly gates: Map<string, FairGate>;
  readonly maxInCluster: number;
  readonly bucket: TokenBucket | undefined;
  readonly maxStreams: number;
  readonly maxQueued: number;
  streams: number;
  /** Requests waiting in any of the queues. */
  queued: number;
}

/** One cluster, or under the name '' what the gateway answers itself. */
export interface ClusterEntry {
  readonly gate: FairGate;
  streams: number;
}

/** See the file comment. */
export class AdmissionEntries {
  readonly #limits: LimitsConfig;
  readonly #nowMs: () => number;
  readonly #users = new Map<string, UserEntry>();
  readonly #clusters = new Map<string, ClusterEntry>();
  #userRoom = rememberedEntries;
  #clusterRoom = rememberedEntries;

  /** @param nowMs monotonic milliseconds */
  constructor(limits: LimitsConfig, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** How many users are remembered. */
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
    // What the gateway answers itself has no bound of a cluster.
    const added: ClusterEntry = {
      gate: new FairGate(name === '' ? Infinity : this.#limits.clusterRequests),
      streams: 0,
    };
    clusters.set(name, added);
    return added;
  }
}

/** The gate of one user's requests to one cluster. */
export function gateInCluster({ gates, maxInCluster }: UserEntry, cluster: string): FairGate {
  const known = gates.get(cluster);
  if (known !== undefined) return known;
  // A caller may also name clusters that do not exist.
  if (gates.size >= rememberedEntries) {
    for (const [name, gate] of gates) if (gate.idle) gates.delete(name);
  }
  const added = new FairGate(cluster === '' ? Infinity : maxInCluster);
  gates.set(cluster, added);
  return added;
}
