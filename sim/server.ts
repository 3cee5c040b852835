// A small Kubernetes API server in memory that works with kubectl, for the demo and for tests of the gateway.
// `startSimulator` starts it. `close()` of the result ends its listener, timers and streams.
import { randomBytes } from 'node:crypto';
import { AuditLog } from './access/audit.ts';
import { createAuthorizer } from './access/authorize.ts';
import { bootstrap } from './bootstrap.ts';
import { handleRequest, handleUpgrade } from './api/chain.ts';
import type { Cluster } from './call/cluster.ts';
import { containerExited } from './controllers/container-exit.ts';
import type { ControllerDelays } from './controllers/kubelet.ts';
import { startControllers } from './controllers/loop.ts';
import { followDefinitions } from './controllers/custom-resources.ts';
import { listen } from './api/listener.ts';
import { metricsResources } from './api/resource-metrics.ts';
import { simulatedNode } from './workloads/nodes.ts';
import { createObjects, type SimObjects } from './api/objects.ts';
import { createRegistry } from './store/resources.ts';
import { loadKubernetesSpec, type KubernetesSpec } from './schema/spec.ts';
import { Store } from './store/store.ts';
import { isUpgradePath } from './streams/streams-calls.ts';
import { isWebSocketWatch } from './streams/websocket-reply.ts';
import { createStreams } from './streams/streams.ts';
import { Timers } from './model/timers.ts';
import { createAuthority, type CertificateAuthority, type KeyPair } from './access/tls.ts';
import type { JsonObject, SimUser } from './model/types.ts';

/** The options of a simulated API server, all with defaults. */
export interface SimulatorOptions {
  /** A name for messages and node names. Default `sim`. */
  readonly name?: string;
  /** The Kubernetes version to report. Default `v1.36.3`. */
  readonly version?: string;
  /** Whether the server speaks HTTP/2 in addition to HTTP/1.1. Default true. */
  readonly http2?: boolean;
  /** Users by bearer token. `addToken` of the simulator adds further ones. */
  readonly tokens?: Readonly<Record<string, SimUser>>;
  /** Objects to create at start, in this order. */
  readonly seed?: readonly JsonObject[];
  /** The number of nodes. Default 2. */
  readonly nodes?: number;
  /**
   * How long simulated controllers wait. False: no controllers run, so no pods are started and deleted Namespaces are
   * not removed. Default: 50 to 100 ms.
   */
  readonly controllers?: Partial<ControllerDelays> | false;
  /** Returns the current time. Default: the real time. */
  readonly now?: () => Date;
  /** The specification from loadKubernetesSpec. Simulators in one process can share it to save memory. */
  readonly spec?: KubernetesSpec;
  /** Whether it serves `metrics.k8s.io`, for kubectl top. Default false, as a cluster without metrics-server. */
  readonly metrics?: boolean;
  /** Average time between two log lines of a container, in milliseconds. Default 2 s. */
  readonly logPeriodMs?: number;
}

const defaultDelays: ControllerDelays = { podStartMs: 50, podStopMs: 50, jobRunMs: 100 };

const host = '127.0.0.1';
/** The names in every serving certificate. */
const servingNames = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default.svc'];

/** A running simulated API server. */
export interface Simulator {
  readonly name: string;
  /** The server's address, such as `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly port: number;
  readonly caPem: string;
  readonly version: string;
  /** A bearer token of a user in the group system:masters, made at start. */
  readonly adminToken: string;
  /** From now on, the token authenticates as this user. */
  addToken(token: string, user: SimUser): void;
  removeToken(token: string): void;
  /** Makes a client certificate with this server's CA. */
  issueClientCertificate(user: string, groups?: readonly string[]): Promise<KeyPair>;
  /** Direct access to the objects, without authentication and authorization. */
  readonly store: SimObjects;
  readonly audit: AuditLog;
  /**
   * With false, the server refuses all connections and cuts those that are open, as if the cluster were gone. With
   * true, it serves again.
   */
  setReachable(isReachable: boolean): Promise<void>;
  /** Ends all watches, streams and connections, and stops timers and the listener. */
  close(): Promise<void>;
}

/** Starts a simulated API server. Rejects when the port is in use. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { name = 'sim', version = 'v1.36.3' } = options;
  const now = options.now ?? (() => new Date());
  const spec = options.spec ?? loadKubernetesSpec();
  const adminToken = randomBytes(16).toString('hex');
  const tokens = new Map<string, SimUser>(Object.entries(options.tokens ?? {}));
  tokens.set(adminToken, { name: 'admin', groups: ['system:masters'] });
  const authority = await createAuthority(`${name} CA`);
  const streams = new Set<() => void>();
  const cluster = makeCluster({ name, version, now, spec, authority, tokens, streams });
  const simulatedStreams = createStreams({
    ...(options.logPeriodMs === undefined ? {} : { logPeriodMs: options.logPeriodMs }),
    onContainerExit: (pod, container, code) => containerExited(cluster, pod, container, code),
  });
  const objects = createObjects(cluster);
  followDefinitions(cluster);
  if (options.metrics === true) cluster.registry.setCustom(metricsResources[0]!.group, metricsResources, {});
  bootstrap(cluster, spec);
  for (let n = 1; n <= (options.nodes ?? 2); n++) objects.apply(simulatedNode(`${name}-node-${n}`, n, version, now()));
  for (const object of options.seed ?? []) objects.apply(object);
  if (options.controllers !== false) startControllers(cluster, { ...defaultDelays, ...options.controllers });

  const audit = new AuditLog();
  const parts = { cluster, audit, streams: simulatedStreams };
  const listener = await listen({
    host,
    port: 0,
    http2: options.http2 ?? true,
    keyPair: await authority.issueServer(servingNames),
    caPem: authority.caPem,
    isUpgrade: (request) => isUpgradePath((request.url ?? '').split('?', 1)[0] ?? '') || isWebSocketWatch(request),
    onRequest: (request, reply) => void handleRequest(parts, request, reply),
    onUpgrade: (request, socket, head) => handleUpgrade(parts, request, socket, head),
  });

  return {
    name,
    url: `https://${host}:${listener.port}`,
    port: listener.port,
    caPem: authority.caPem,
    version,
    adminToken,
    addToken: (token, user) => void tokens.set(token, user),
    removeToken: (token) => void tokens.delete(token),
    issueClientCertificate: (user, groups) => authority.issueClient(user, groups),
    store: objects,
    audit,
    setReachable: (isReachable) => (isReachable ? listener.resume() : listener.pause()),
    async close() {
      cluster.timers.close();
      for (const end of Array.from(streams)) end();
      await listener.close();
    },
  };
}

/** What a simulated cluster is made of. */
interface ClusterParts {
  readonly name: string;
  readonly version: string;
  readonly now: () => Date;
  readonly spec: KubernetesSpec;
  readonly authority: CertificateAuthority;
  /** The users by bearer token. It can change while the server runs. */
  readonly tokens: Map<string, SimUser>;
  /** Functions that end the open watches and streams. */
  readonly streams: Set<() => void>;
}

function makeCluster(parts: ClusterParts): Cluster {
  const { name, version, now, spec, authority, tokens, streams } = parts;
  const store = new Store(now);
  return {
    name,
    version,
    store,
    registry: createRegistry(spec),
    authorize: createAuthorizer(store),
    timers: new Timers(),
    messages: spec.messages,
    now,
    caPem: () => authority.caPem,
    lookupToken: (token) => tokens.get(token),
    issueToken(user) {
      const token = randomBytes(24).toString('base64url');
      tokens.set(token, user);
      return token;
    },
    trackStream(end) {
      streams.add(end);
      return () => streams.delete(end);
    },
  };
}
