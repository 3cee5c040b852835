// The section of the configuration that limits what users, clusters and clients may use of the gateway. In flags, 0
// means "no limit", as in kube-apiserver. In LimitsConfig, such a limit is Infinity, so that no other file has to treat
// 0 specially.
import { totalmem } from 'node:os';
import { z } from 'zod';
import { parseDuration } from '../../lib/duration.ts';
import { flagOf } from '../values/values.ts';
import type { Fault, Given } from '../values/values.ts';

/** Limits of one gateway. A limit that is switched off is Infinity. */
export interface LimitsConfig {
  /**
   * Maximum number of concurrent short requests that only read. (Watches and other streams have limits of their own.)
   * Above this and the next limits, requests wait or are answered 429.
   */
  readonly requests: number;
  /** Maximum number of concurrent short requests that may change something. */
  readonly mutatingRequests: number;
  /** Maximum number of concurrent short requests of one user. */
  readonly userRequests: number;
  /**
   * Maximum number of concurrent short requests of one user to one cluster. It is lower than `userRequests`, so that a
   * cluster that does not answer cannot block all requests of a user.
   */
  readonly userClusterRequests: number;
  /** Maximum number of concurrent short requests to one cluster. */
  readonly clusterRequests: number;
  /** Maximum number of concurrent requests and streams of all callers without a login, taken together. */
  readonly anonymousRequests: number;
  /**
   * Maximum number of short requests that wait because another limit is reached: of all users together, and of one user
   * (`userQueued`). Further requests are answered 429 at once.
   */
  readonly queued: number;
  readonly userQueued: number;
  /** How many milliseconds a short request may wait because a limit is reached; then it is answered 429. */
  readonly queueTimeoutMs: number;
  /**
   * Maximum number of open watches, logs, upgraded connections and proxied services: of all users together, of one
   * user, of one cluster.
   */
  readonly streams: number;
  readonly userStreams: number;
  readonly clusterStreams: number;
  /** Requests per second of one user (`userQps`), and how many may come at once (`userBurst`). Infinity: no limit. */
  readonly userQps: number;
  readonly userBurst: number;
  /** Maximum number of client connections: of all clients together, and from one address. */
  readonly connections: number;
  readonly addressConnections: number;
  /**
   * A short answer or a watch is ended when its client has read nothing of it for this many milliseconds; Infinity:
   * never.
   */
  readonly slowClientTimeoutMs: number;
  /**
   * Maximum bytes of heap and buffers of the process. Shortly before the process reaches it, new requests are refused.
   */
  readonly memoryBytes: number;
  /** True to end streams when the credential that opened them expires. */
  readonly endExpiredStreams: boolean;
}

const count = z.union([z.number().int().min(0), z.string().min(1)]).optional();
const text = z.string().min(1).optional();

/** Schema of the limits in the configuration file. */
export const limitsFileFields = {
  maxRequestsInflight: count,
  maxMutatingRequestsInflight: count,
  maxUserRequestsInflight: count,
  maxUserClusterRequestsInflight: count,
  maxClusterRequestsInflight: count,
  maxAnonymousRequestsInflight: count,
  maxRequestsQueued: count,
  maxUserRequestsQueued: count,
  requestQueueTimeout: text,
  maxStreams: count,
  maxUserStreams: count,
  maxClusterStreams: count,
  userQps: count,
  userBurst: count,
  maxConnections: count,
  maxAddressConnections: count,
  slowClientTimeout: text,
  maxMemory: text,
  endExpiredStreams: z.boolean().optional(),
};
export type LimitsInput = Given<typeof limitsFileFields>;

/** Default limits. docs/how-to/limits.md gives the reason for each. */
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

/**
 * Those limits that count requests, streams or connections, each with the name of its setting. With several worker
 * processes, each worker gets its share of these limits.
 */
export const countSettings = {
  requests: 'maxRequestsInflight',
  mutatingRequests: 'maxMutatingRequestsInflight',
  userRequests: 'maxUserRequestsInflight',
  userClusterRequests: 'maxUserClusterRequestsInflight',
  clusterRequests: 'maxClusterRequestsInflight',
  anonymousRequests: 'maxAnonymousRequestsInflight',
  queued: 'maxRequestsQueued',
  userQueued: 'maxUserRequestsQueued',
  streams: 'maxStreams',
  userStreams: 'maxUserStreams',
  clusterStreams: 'maxClusterStreams',
  connections: 'maxConnections',
  addressConnections: 'maxAddressConnections',
} as const satisfies Partial<Record<keyof LimitsConfig, keyof typeof defaultLimits>>;

const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};

/** The bytes of a size such as `512Mi`, `2Gi`, `1500M` or `1048576`; undefined when the text is no size. */
export function parseSize(written: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(|k|M|G|Ki|Mi|Gi)$/.exec(written);
  return match === null ? undefined : Math.floor(Number(match[1]) * sizeUnits[match[2]!]!);
}

/**
 * Checks the limits; `fault` is called for each one that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @param ownBytes the memory limit in bytes when `--max-memory` is not given
 */
export function readLimitsConfig(given: LimitsInput, fault: Fault, ownBytes: number = memoryOfProcess()): LimitsConfig {
  const number = (name: keyof typeof defaultLimits): number => {
    const written = given[name] ?? defaultLimits[name];
    const value = Number(written);
    if (!Number.isInteger(value) || value < 0 || String(written).trim() === '') {
      fault(flagOf(name), `"${written}" is no whole number; 0 means no limit`);
      return Infinity;
    }
    return value === 0 ? Infinity : value;
  };
  const duration = (name: 'requestQueueTimeout' | 'slowClientTimeout'): number => {
    const written = given[name] ?? defaultLimits[name];
    const value = parseDuration(written);
    if (value === undefined || value > 86_400_000)
      fault(flagOf(name), `"${written}" is no duration up to 24h, for example 30s or 2m`);
    return value ?? Infinity;
  };
  const userQps = number('userQps');
  const burst = Number(given.userBurst ?? (userQps === Infinity ? 0 : userQps * 2));
  if (!Number.isInteger(burst) || burst < 0) fault('--user-burst', `"${given.userBurst}" is no whole number`);
  if (given.userBurst !== undefined && userQps === Infinity) fault('--user-burst', '--user-burst needs --user-qps');
  if (userQps !== Infinity && burst < 1) fault('--user-burst', 'must be at least 1, or no request would ever pass');
  const memoryBytes = given.maxMemory === undefined ? ownBytes : parseSize(given.maxMemory);
  if (memoryBytes === undefined || memoryBytes < 128 * 1024 ** 2)
    fault('--max-memory', `"${given.maxMemory}" is no size of at least 128Mi, for example 512Mi or 2Gi`);
  const queueTimeoutMs = duration('requestQueueTimeout');
  const slow = duration('slowClientTimeout');
  const counts = Object.entries(countSettings).map(([name, setting]) => [name, number(setting)]);
  return Object.freeze({
    ...(Object.fromEntries(counts) as Record<keyof typeof countSettings, number>),
    queueTimeoutMs,
    userQps,
    userBurst: burst,
    slowClientTimeoutMs: slow === 0 ? Infinity : slow,
    memoryBytes: memoryBytes ?? Infinity,
    endExpiredStreams: given.endExpiredStreams !== false,
  });
}

/**
 * Bytes of memory that this process may use: the limit of its control group (cgroup), otherwise the memory of the
 * machine. When there is no cgroup limit, Node's constrainedMemory() returns 0 or a number above the machine's memory.
 */
function memoryOfProcess(): number {
  const constrained = process.constrainedMemory();
  const machine = totalmem();
  return constrained > 0 && constrained < machine ? constrained : machine;
}
