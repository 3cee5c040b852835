// The section of the configuration that bounds what users, clusters and clients may take of the gateway. 0 means "no
// limit", as with kube-apiserver's flags. It becomes Infinity here, so no other file has to know of it.
import { totalmem } from 'node:os';
import { z } from 'zod';
import { parseDuration } from '../../lib/duration.ts';
import type { Fault } from './values.ts';

/** Bounds of one gateway; counts are Infinity where there is no limit. */
export interface LimitsConfig {
  /** Short requests under way that only read. */
  readonly requests: number;
  /** Short requests under way that may change something. */
  readonly mutatingRequests: number;
  /** Short requests of one user under way. */
  readonly userRequests: number;
  /** Of these, to one cluster: a cluster that does not answer must not take all seats of a user. */
  readonly userClusterRequests: number;
  /** Short requests under way to one cluster. */
  readonly clusterRequests: number;
  /** Requests of all who did not log in, and their streams. */
  readonly anonymousRequests: number;
  /** Short requests that wait for a seat, of all users and of one. */
  readonly queued: number;
  readonly userQueued: number;
  /** Longest wait for a seat. */
  readonly queueTimeoutMs: number;
  /** Open watches, logs, upgrades and proxied services: of all users, of one user, of one cluster. */
  readonly streams: number;
  readonly userStreams: number;
  readonly clusterStreams: number;
  /** Requests of one user a second, and how many at once; Infinity counts nothing. */
  readonly userQps: number;
  readonly userBurst: number;
  /** Connections of clients, of all and from one address. */
  readonly connections: number;
  readonly addressConnections: number;
  /** A short answer or a watch is ended when its client takes nothing for so long; Infinity: never. */
  readonly slowClientTimeoutMs: number;
  /** Most bytes of heap and buffers for the process; from a share of it on requests are refused. */
  readonly memoryBytes: number;
  /** Streams end when the credential that opened them does. */
  readonly endExpiredStreams: boolean;
}

/** What a person may write; flags are text, the file may hold numbers. */
export interface LimitsInput {
  readonly maxRequestsInflight?: string | number;
  readonly maxMutatingRequestsInflight?: string | number;
  readonly maxUserRequestsInflight?: string | number;
  readonly maxUserClusterRequestsInflight?: string | number;
  readonly maxClusterRequestsInflight?: string | number;
  readonly maxAnonymousRequestsInflight?: string | number;
  readonly maxRequestsQueued?: string | number;
  readonly maxUserRequestsQueued?: string | number;
  readonly requestQueueTimeout?: string;
  readonly maxStreams?: string | number;
  readonly maxUserStreams?: string | number;
  readonly maxClusterStreams?: string | number;
  readonly userQps?: string | number;
  readonly userBurst?: string | number;
  readonly maxConnections?: string | number;
  readonly maxAddressConnections?: string | number;
  readonly slowClientTimeout?: string;
  readonly maxMemory?: string;
  readonly endExpiredStreams?: boolean;
}

const count = z.union([z.number().int().min(0), z.string().min(1)]);
const text = z.string().min(1);

/** The same in the configuration file. */
export const limitsFileFields = {
  maxRequestsInflight: count.optional(),
  maxMutatingRequestsInflight: count.optional(),
  maxUserRequestsInflight: count.optional(),
  maxUserClusterRequestsInflight: count.optional(),
  maxClusterRequestsInflight: count.optional(),
  maxAnonymousRequestsInflight: count.optional(),
  maxRequestsQueued: count.optional(),
  maxUserRequestsQueued: count.optional(),
  requestQueueTimeout: text.optional(),
  maxStreams: count.optional(),
  maxUserStreams: count.optional(),
  maxClusterStreams: count.optional(),
  userQps: count.optional(),
  userBurst: count.optional(),
  maxConnections: count.optional(),
  maxAddressConnections: count.optional(),
  slowClientTimeout: text.optional(),
  maxMemory: text.optional(),
  endExpiredStreams: z.boolean().optional(),
};

/** The defaults; docs/how-to/limits.md says why each is what it is. */
export const defaultLimits = {
  maxRequestsInflight: 3_000,
  maxMutatingRequestsInflight: 1_000,
  maxUserRequestsInflight: 1_000,
  maxUserClusterRequestsInflight: 200,
  maxClusterRequestsInflight: 256,
  maxAnonymousRequestsInflight: 20,
  maxRequestsQueued: 5_000,
  maxUserRequestsQueued: 1_000,
  requestQueueTimeout: '15s',
  maxStreams: 30_000,
  maxUserStreams: 10_000,
  maxClusterStreams: 4_096,
  userQps: 0,
  maxConnections: 20_000,
  maxAddressConnections: 5_000,
  slowClientTimeout: '60s',
} as const satisfies LimitsInput;

const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};

/** Bytes of a Kubernetes quantity (`512Mi`, `2Gi`, `1500M`, plain bytes), or undefined when it is none. */
export function parseSize(written: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(|k|M|G|Ki|Mi|Gi)$/.exec(written);
  return match === null ? undefined : Math.floor(Number(match[1]) * sizeUnits[match[2]!]!);
}

/**
 * Reads it; faults are handed to `fault`.
 * @param given flags over file
 * @param ownBytes memory without `--max-memory`: the limit of the control group, or what the machine has
 */
export function readLimitsConfig(given: LimitsInput, fault: Fault, ownBytes: number = memoryOfProcess()): LimitsConfig {
  const number = (name: keyof typeof defaultLimits, flag: string): number => {
    const written = given[name] ?? defaultLimits[name];
    const value = Number(written);
    if (!Number.isInteger(value) || value < 0 || String(written).trim() === '') {
      fault(flag, `"${written}" is no whole number; 0 means no limit`);
      return Infinity;
    }
    return value === 0 ? Infinity : value;
  };
  const duration = (name: 'requestQueueTimeout' | 'slowClientTimeout', flag: string): number => {
    const written = given[name] ?? defaultLimits[name];
    const value = parseDuration(written);
    if (value === undefined || value > 86_400_000)
      fault(flag, `"${written}" is no duration up to 24h, for example 30s or 2m`);
    return value ?? Infinity;
  };
  const userQps = number('userQps', '--user-qps');
  const burst = Number(given.userBurst ?? (userQps === Infinity ? 0 : userQps * 2));
  if (!Number.isInteger(burst) || burst < 0) fault('--user-burst', `"${given.userBurst}" is no whole number`);
  if (given.userBurst !== undefined && userQps === Infinity)
    fault('--user-burst', '--user-burst has a meaning only beside --user-qps');
  if (userQps !== Infinity && burst < 1) fault('--user-burst', 'must be at least 1, or no request would ever pass');
  const memoryBytes = given.maxMemory === undefined ? ownBytes : parseSize(given.maxMemory);
  if (memoryBytes === undefined || memoryBytes < 128 * 1024 ** 2)
    fault('--max-memory', `"${given.maxMemory}" is no size of at least 128Mi, for example 512Mi or 2Gi`);
  const queueTimeoutMs = duration('requestQueueTimeout', '--request-queue-timeout');
  const slow = duration('slowClientTimeout', '--slow-client-timeout');
  return Object.freeze({
    requests: number('maxRequestsInflight', '--max-requests-inflight'),
    mutatingRequests: number('maxMutatingRequestsInflight', '--max-mutating-requests-inflight'),
    userRequests: number('maxUserRequestsInflight', '--max-user-requests-inflight'),
    userClusterRequests: number('maxUserClusterRequestsInflight', '--max-user-cluster-requests-inflight'),
    clusterRequests: number('maxClusterRequestsInflight', '--max-cluster-requests-inflight'),
    anonymousRequests: number('maxAnonymousRequestsInflight', '--max-anonymous-requests-inflight'),
    queued: number('maxRequestsQueued', '--max-requests-queued'),
    userQueued: number('maxUserRequestsQueued', '--max-user-requests-queued'),
    queueTimeoutMs,
    streams: number('maxStreams', '--max-streams'),
    userStreams: number('maxUserStreams', '--max-user-streams'),
    clusterStreams: number('maxClusterStreams', '--max-cluster-streams'),
    userQps,
    userBurst: burst,
    connections: number('maxConnections', '--max-connections'),
    addressConnections: number('maxAddressConnections', '--max-address-connections'),
    slowClientTimeoutMs: slow === 0 ? Infinity : slow,
    memoryBytes: memoryBytes ?? Infinity,
    endExpiredStreams: given.endExpiredStreams !== false,
  });
}

/** Bytes this process may use. Without a limit of the control group Node says 0 or more than the machine has. */
function memoryOfProcess(): number {
  const constrained = process.constrainedMemory();
  const machine = totalmem();
  return constrained > 0 && constrained < machine ? constrained : machine;
}
