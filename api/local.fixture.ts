// For tests: asks the gateway's own API without a socket. Requests pass the real path parser and route table, so a test
// cannot use a path that the gateway would not serve.
import type { Authorizer } from '../auth/rules/authorize.ts';
import { createClusterStore } from '../model/store.ts';
import type { ClusterStore } from '../model/store.ts';
import type { ClusterGatewayView, ClusterSpec } from '../model/records.ts';
import { GatewayError } from '../model/errors.ts';
import { makeUser } from '../model/user.ts';
import type { ApiClient } from '../kube/types.ts';
import type { BodyReader } from '../http/inbound.ts';
import { makeOpenStreams } from '../routing/forward/open-streams.ts';
import type { Authorized } from '../request/exchange.ts';
import { makeRegistryAnswers } from './karmada/registries.ts';
import { makeLocalAnswers } from './local.ts';
import { Series } from './clusters/request-series.ts';
import { makeStatistics } from './clusters/request-statistics.ts';
import { parseTarget } from '../request/path.ts';
import { requestInfo } from '../request/request-info.ts';
import { route } from '../request/routes.ts';
import { statusResponse } from '../request/answer/status.ts';

/** Secret texts that every spec of {@link clusterSpec} contains. Tests check that no answer shows one of them. */
export const secrets = [
  'the-token-of-the-gateway',
  'the-private-key',
  'the-client-certificate',
  'the-ca-bundle',
  'the-proxy-user',
  'the-proxy-password',
  'the-proxy-header',
  'the-last-applied-secret',
] as const;

/** The spec of a cluster from a hub, with every field set that a source can set. */
export function clusterSpec(name: string, changes: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: name,
    uid: `uid-${name}`,
    source: 'cluster-gateway',
    sourceDetail: `Secret credentials/${name}`,
    labels: { env: 'test' },
    endpoint: { scheme: 'https', host: `${name}.example.com`, port: 6443, basePath: '/k8s' },
    tls: { ca: 'the-ca-bundle', serverName: 'member.internal', insecure: false },
    proxy: {
      scheme: 'https',
      host: 'proxy.example.com',
      port: 8080,
      userinfo: { username: 'the-proxy-user', password: 'the-proxy-password' },
      tls: { ca: 'the-ca-bundle', cert: 'the-client-certificate', key: 'the-private-key' },
      headers: [['X-Key', 'the-proxy-header']],
    },
    credential: {
      kind: 'token',
      current: () => ({
        authorization: 'Bearer the-token-of-the-gateway',
        clientCertificate: { cert: 'the-client-certificate', key: 'the-private-key' },
        expiresAtMs: undefined,
      }),
      invalidate: () => undefined,
    },
    transportKey: 'a digest',
    fallbacks: [
      {
        endpoint: { scheme: 'https', host: '::1', port: 6444, basePath: '' },
        tls: { ca: 'the-ca-bundle', serverName: undefined, insecure: false },
      },
    ],
    conditions: [{ type: 'HubAccepted', status: 'True', reason: 'Accepted', message: 'yes' }],
    clusterGateway: gatewayView(name),
    problem: undefined,
    ...changes,
  };
}

/**
 * The data from a cluster's Secret that `clustergateways` shows. One annotation repeats the whole Secret, as after
 * `kubectl apply`; tests check that no answer shows this annotation.
 */
export function gatewayView(name: string, metadata: Partial<ClusterGatewayView['metadata']> = {}): ClusterGatewayView {
  return {
    credentialType: 'ServiceAccountToken',
    endpointType: 'Const',
    metadata: {
      uid: `secret-uid-${name}`,
      resourceVersion: '100',
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: {
        'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken',
        'cluster.core.oam.dev/cluster-endpoint-type': 'Const',
        key: 'value',
      },
      annotations: {
        'cluster.core.oam.dev/cluster-alias': `alias of ${name}`,
        'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"token":"the-last-applied-secret"}}',
      },
      ...metadata,
    },
    secret: { namespace: 'credentials', name },
  };
}

const user = makeUser({ name: 'alice' });

/** A complete answer of the gateway's own API. */
export interface LocalAnswer {
  readonly status: number;
  /** Header values; the keys are header names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** Parses the body as JSON. */
  json(): unknown;
}

/** A cluster store, and functions that send requests to the gateway's own API. */
export interface LocalSite {
  readonly store: ClusterStore;
  ask(request: string, headers?: Readonly<Record<string, string>>, body?: unknown): Promise<LocalAnswer>;
  /**
   * Starts a watch. `events` grows as events arrive; `close` ends the watch like a client that closes its connection.
   */
  watch(
    path: string,
    headers?: Readonly<Record<string, string>>,
  ): { readonly events: readonly WatchedEvent[]; close(): void };
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly annotations?: object };
  };
}

/** Makes a store with these clusters, and the gateway's own API on top of it. */
export function makeLocalSite(
  specs: readonly ClusterSpec[],
  options: {
    readonly hub?: ApiClient;
    readonly clusterGatewayApi?: boolean;
    readonly store?: ClusterStore;
    /** With it and `hub`, ResourceRegistries are served. */
    readonly authorizer?: Authorizer;
  } = {},
): LocalSite {
  const store = options.store ?? createClusterStore();
  const answer = makeLocalAnswers({
    clusters: { store, identity: 'impersonate', openStreams: makeOpenStreams(), bookmarkIntervalMs: 60_000 },
    checks: [],
    statistics: makeStatistics(() => [new Series('m1', 'get')]),
    version: '1.2.3',
    clusterGatewayApi: options.clusterGatewayApi ?? true,
    hub: options.hub,
    registries:
      options.hub && options.authorizer && makeRegistryAnswers(options.hub, makeOpenStreams(), options.authorizer),
  });
  store.apply('test', specs);
  const begin = (request: string, headers: Readonly<Record<string, string>>, body: unknown) => {
    const [method = '', target = ''] = request.split(' ');
    const raw = Object.entries(headers).flat();
    const sent = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const chunks: Buffer[] = [];
    const answered = { status: 0, headers: new Map<string, string>() };
    let onClose: (aborted: boolean) => void = () => undefined;
    let over = false;
    const closed = (aborted: boolean): void => {
      if (over) return;
      over = true;
      onClose(aborted);
    };
    const inbound = {
      method,
      headers: raw,
      body: sent === undefined ? 'none' : sent.length,
      readBody(reader: BodyReader) {
        reader.onData(sent!);
        reader.onEnd();
      },
      pauseBody() {},
      respond(status: number, list: readonly string[]) {
        answered.status = status;
        for (let i = 0; i < list.length; i += 2) answered.headers.set(list[i]!.toLowerCase(), list[i + 1]!);
      },
      write: (chunk: Buffer) => chunks.push(chunk) > 0,
      end: () => closed(false),
      abort: () => closed(true),
      onDrain() {},
      onClose: (listener: (aborted: boolean) => void) => (onClose = listener),
    };
    const parsed = parseTarget(target);
    const surface = route(parsed, undefined);
    const info = requestInfo(method, parsed.segments, parsed.query, false);
    const progress = { status: 0, bytesOut: 0 };
    const access = { mayReach: () => true, follow: () => () => undefined };
    const state = { inbound, headers: raw, target: parsed, surface, info, auditId: 'an-id', progress, access, user };
    const text = (): string => Buffer.concat(chunks).toString('utf8');
    return { done: () => answer(state as unknown as Authorized), answered, text, close: () => closed(true) };
  };
  return {
    store,
    async ask(request, headers = {}, body = undefined) {
      try {
        const { done, answered, text } = begin(request, headers, body);
        await done();
        return { ...answered, text: text(), json: () => JSON.parse(text()) as unknown };
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        const { status, body: bytes } = statusResponse(error, 'an-id');
        const message = bytes.toString('utf8');
        return { status, headers: new Map(), text: message, json: () => JSON.parse(message) as unknown };
      }
    },
    watch(path, headers = {}) {
      const { done, text, close } = begin(`GET ${path}`, headers, undefined);
      void done();
      return {
        get events() {
          const lines = text().split('\n').slice(0, -1);
          return lines.map((line) => JSON.parse(line) as WatchedEvent);
        },
        close,
      };
    },
  };
}
