// The section of the configuration that limits what users, clusters and clients may use of the gateway. In settings,
// 0 means "no limit", as in kube-apiserver. In LimitsConfig, such a limit is Infinity, so that no other file has to
// treat 0 specially.
import { totalmem } from 'node:os';
import { duration, limit, onOff, size, whole } from '../settings/kinds.ts';
import { readSettings } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

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
   * user, of one user to one cluster, of one cluster. A watch of many clusters counts once for each of them.
   */
  readonly streams: number;
  readonly userStreams: number;
  readonly userClusterStreams: number;
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

/** The settings of the limits. docs/how-to/limits.md gives the reason for each default. */
export const limitSettings = {
  maxRequestsInflight: { kind: limit, default: 3_000, text: 'reading requests under way, streams left out' },
  maxMutatingRequestsInflight: { kind: limit, default: 1_000, text: 'changing requests under way' },
  maxUserRequestsInflight: { kind: limit, default: 1_000, text: 'requests of one user under way' },
  maxUserClusterRequestsInflight: { kind: limit, default: 200, text: 'requests of one user to one cluster under way' },
  maxClusterRequestsInflight: { kind: limit, default: 256, text: 'requests to one cluster under way' },
  maxAnonymousRequestsInflight: { kind: limit, default: 20, text: 'requests and streams of all who did not log in' },
  maxRequestsQueued: {
    kind: limit,
    default: 5_000,
    text: 'requests that may wait when a limit is reached; more are answered 429',
  },
  maxUserRequestsQueued: { kind: limit, default: 1_000, text: 'requests of one user that may wait' },
  requestQueueTimeout: {
    kind: duration({ most: '24h' }),
    default: '15s',
    text: 'how long a request may wait when a limit is reached',
  },
  maxStreams: { kind: limit, default: 30_000, text: 'open watches, logs and upgraded connections' },
  maxUserStreams: { kind: limit, default: 10_000, text: 'open streams of one user' },
  maxClusterStreams: { kind: limit, default: 4_096, text: 'open streams of one cluster' },
  maxUserClusterStreams: {
    kind: limit,
    otherwise: 'half of `maxClusterStreams`',
    text: 'open streams of one user to one cluster',
  },
  userQps: { kind: limit, default: 0, text: 'requests of one user a second' },
  userBurst: { kind: whole(), otherwise: 'twice `userQps`', text: 'requests of one user at once' },
  maxConnections: { kind: limit, default: 20_000, text: 'connections of clients' },
  maxAddressConnections: { kind: limit, default: 5_000, text: 'connections of clients from one address' },
  slowClientTimeout: {
    kind: duration({ most: '24h' }),
    default: '60s',
    text: 'end answers and watches whose client takes nothing for so long; `0`: never',
  },
  maxMemory: {
    kind: size('128Mi', '512Mi or 2Gi'),
    otherwise: "the limit of the control group, else the machine's memory",
    text: 'memory of the process, such as `512Mi` or `2Gi`',
  },
  endExpiredStreams: { kind: onOff, default: true, text: 'end streams with the credential that opened them' },
} satisfies Settings;

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
} as const satisfies Partial<Record<keyof LimitsConfig, keyof typeof limitSettings>>;

/**
 * Reads the limits; `written.fault` is called for each one that is wrong.
 * @param ownBytes the memory limit in bytes when `--max-memory` is not given
 */
export function readLimitsConfig(written: Written, ownBytes: number = memoryOfProcess()): LimitsConfig {
  const given = readSettings(limitSettings, written);
  const { userQps, userBurst = userQps === Infinity ? 0 : userQps * 2 } = given;
  if (given.userBurst !== undefined && userQps === Infinity)
    written.fault('--user-burst', '--user-burst needs --user-qps');
  if (userQps !== Infinity && userBurst < 1)
    written.fault('--user-burst', 'must be at least 1, or no request would ever pass');
  const { maxClusterStreams, maxUserClusterStreams = Math.ceil(maxClusterStreams / 2) } = given;
  const counts = Object.entries(countSettings).map(([name, setting]) => [name, given[setting]]);
  return Object.freeze({
    ...(Object.fromEntries(counts) as Record<keyof typeof countSettings, number>),
    userClusterStreams: maxUserClusterStreams,
    queueTimeoutMs: given.requestQueueTimeout,
    userQps,
    userBurst,
    slowClientTimeoutMs: given.slowClientTimeout === 0 ? Infinity : given.slowClientTimeout,
    memoryBytes: given.maxMemory ?? ownBytes,
    endExpiredStreams: given.endExpiredStreams,
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
