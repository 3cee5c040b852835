// A small in-memory Kubernetes API server that real kubectl works on: for the demo and for tests of the gateway.
// `startSimulator` joins the parts; close() ends everything it started (port, timers, streams).
import { randomBytes } from 'node:crypto';
import { createAuditLog, type AuditLog } from './access/audit.ts';
import { createAuthorizer } from './access/authorize.ts';
import { bootstrap } from './bootstrap.ts';
import { handleRequest, handleUpgrade } from './api/chain.ts';
import type { Cluster } from './cluster.ts';
import { containerExited } from './controllers/container-exit.ts';
import { type ControllerDelays } from './controllers/delays.ts';
import { startControllers } from './controllers/loop.ts';
import { followDefinitions } from './store/custom-resources.ts';
import { createFaults, type Faults } from './faults/faults.ts';
import { listen } from './api/listener.ts';
import { simulatedNode } from './workloads/nodes.ts';
import { createObjects, type SimObjects } from './api/objects.ts';
import { createRegistry } from './store/resources.ts';
import { loadKubernetesSpec, type KubernetesSpec } from './schema/spec.ts';
import { createStore } from './store/store.ts';
import type { StreamHooks } from './streams/stream-hooks.ts';
import { isUpgradePath } from './streams/streams-calls.ts';
import { createStreams } from './streams/streams.ts';
import { createTimers } from './controllers/timers.ts';
import { createAuthority, type CertificateAuthority, type KeyPair } from './access/tls.ts';
import type { JsonObject, SimUser } from './types.ts';

/** How a simulator is to be; everything has a default. */
export interface SimulatorOptions {
  /** For people; default `sim`. */
  readonly name?: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default `v1.36.3`. */
  readonly version?: string;
  /** False turns ALPN h2 off. Default true. */
  readonly http2?: boolean;
  /** Bearer tokens from the start. */
  readonly tokens?: Readonly<Record<string, SimUser>>;
  /** Objects to apply at start, in order. */
  readonly seed?: readonly JsonObject[];
  /** How many nodes there are; default 2. */
  readonly nodes?: number;
  /** False: nothing changes by itself, no garbage is collected and namespaces never end. Default: short delays. */
  readonly controllers?: Partial<ControllerDelays> | false;
  /** Default: the real time. */
  readonly now?: () => Date;
  /** Events kept for watches; default 20,000. */
  readonly historyLimit?: number;
  /** Share one between simulators of a process to save memory. */
  readonly spec?: KubernetesSpec;
  /** Average time between two log lines of a container; default 2 s. */
  readonly logPeriodMs?: number;
  /** Replaces exec, attach, port-forward and logs. */
  readonly streams?: StreamHooks;
}

const defaultDelays: ControllerDelays = { podStartMs: 50, podStopMs: 50, jobRunMs: 100 };

/** Names that every simulator's serving certificate has beside its listen address. */
const servingNames = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default.svc'];

/** A running simulator. */
export interface Simulator {
  readonly name: string;
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  readonly port: number;
  readonly caPem: string;
  readonly version: string;
  /** A token of a member of system:masters, made at start. */
  readonly adminToken: string;
  /** Makes the token authenticate as the user from now on. */
  addToken(token: string, user: SimUser): void;
  removeToken(token: string): void;
  /** A client certificate of the simulator's CA. */
  issueClientCertificate(user: string, groups?: readonly string[]): Promise<KeyPair>;
  /** Objects from code, past authentication and authorization. */
  readonly store: SimObjects;
  readonly audit: AuditLog;
  readonly faults: Faults;
  /** Ends every watch, stream and connection, stops timers and the listener. */
  close(): Promise<void>;
}

/** Starts a simulator. Rejects when the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { name = 'sim', host = '127.0.0.1', version = 'v1.36.3' } = options;
  const now = options.now ?? (() => new Date());
  const spec = options.spec ?? loadKubernetesSpec();
  const adminToken = randomBytes(16).toString('hex');
  const tokens = new Map<string, SimUser>(Object.entries(options.tokens ?? {}));
  tokens.set(adminToken, { name: 'admin', groups: ['system:masters'] });
  const authority = await createAuthority(`${name} CA`);
  const streams = new Set<() => void>();
  const cluster = makeCluster({ name, version, now, spec, authority, tokens, streams }, options.historyLimit);
  const simulatedStreams = createStreams({
    ...(options.logPeriodMs === undefined ? {} : { logPeriodMs: options.logPeriodMs }),
    onContainerExit: (pod, container, code) => containerExited(cluster, pod, container, code),
  });
  const objects = createObjects(cluster);
  followDefinitions(cluster);
  bootstrap(cluster, spec);
  for (let n = 1; n <= (options.nodes ?? 2); n++) objects.apply(simulatedNode(`${name}-node-${n}`, n, version, now()));
  for (const object of options.seed ?? []) objects.apply(object);
  if (options.controllers !== false) startControllers(cluster, { ...defaultDelays, ...options.controllers });

  const audit = createAuditLog();
  const faults: Faults = createFaults({
    listener: { stop: () => listener.stop(), start: () => listener.start() },
  });
  const parts = { cluster, audit, faults, streams: options.streams ?? simulatedStreams };
  const listener = await listen({
    host,
    port: options.port ?? 0,
    http2: options.http2 ?? true,
    keyPair: await authority.issueServer([host, ...servingNames]),
    caPem: authority.caPem,
    isUpgradePath,
    onRequest: (request, reply) => handleRequest(parts, request, reply),
    onUpgrade: (request, socket, head) => handleUpgrade(parts, request, socket, head),
    onConnection: (socket) => faults.watchConnection(socket),
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
    faults,
    async close() {
      cluster.timers.close();
      faults.close();
      for (const end of Array.from(streams)) end();
      await listener.close();
    },
  };
}

interface ClusterParts {
  readonly name: string;
  readonly version: string;
  readonly now: () => Date;
  readonly spec: KubernetesSpec;
  readonly authority: CertificateAuthority;
  /** Who each bearer token is; changed while the simulator runs. */
  readonly tokens: Map<string, SimUser>;
  /** How to end each open watch and stream. */
  readonly streams: Set<() => void>;
}

function makeCluster(parts: ClusterParts, historyLimit: number | undefined): Cluster {
  const { name, version, now, spec, authority, tokens, streams } = parts;
  const store = createStore({ now, ...(historyLimit === undefined ? {} : { historyLimit }) });
  return {
    name,
    version,
    store,
    registry: createRegistry(spec),
    authorize: createAuthorizer(store),
    timers: createTimers(),
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
