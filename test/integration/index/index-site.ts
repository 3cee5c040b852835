// Two simulated clusters behind a gateway with an index, for tests of its API. The index follows members, so a test
// that changes a member waits until the index shows it, never for a time.
import { writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readConfig } from '../../../config/config.ts';
import type { ConfigInput } from '../../../config/written.ts';
import { startGateway } from '../../../gateway/start/gateway.ts';
import type { Gateway } from '../../../gateway/start/gateway.ts';
import { makeLog } from '../../../lib/log.ts';
import { startSimulator } from '../../../sim/server.ts';
import type { Simulator } from '../../../sim/server.ts';
import type { JsonObject } from '../../../sim/model/types.ts';
import { clusterRole, clusterRoleBinding, roleBinding, userSubject } from '../../site/rbac.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json<T>(): T;
}

/** A watch that runs. */
export interface Watching {
  readonly events: readonly WatchEvent[];
  /**
   * Resolves with the events so far once there are as many as this that are no bookmarks; rejects when it ended before.
   */
  until(count: number): Promise<readonly WatchEvent[]>;
  /** Resolves when the server has ended it; false when it was cut. */
  readonly ended: Promise<boolean>;
  close(): void;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: IndexedObject & { readonly code?: number; readonly columnDefinitions?: readonly unknown[] | null };
}

/** An object of any type, as far as tests look at it. */
export interface IndexedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
}

export interface IndexedList {
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly IndexedObject[];
}

/** See the file comment. */
export interface IndexSite {
  readonly gateway: Gateway;
  readonly members: Readonly<Record<string, Simulator>>;
  ask(target: string, user?: string, options?: AskOptions): Promise<Answer>;
  watch(target: string, user?: string, headers?: Readonly<Record<string, string>>): Watching;
  close(): Promise<void>;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A text is sent as it is. */
  readonly body?: object | string;
}

/** Binds a role to a user, cluster-wide or in a namespace. */
export function binding(name: string, role: string, user: string, namespace?: string): JsonObject {
  return namespace === undefined
    ? clusterRoleBinding(name, role, userSubject(user))
    : roleBinding(namespace, name, `ClusterRole/${role}`, userSubject(user));
}

const gatewayRights: readonly JsonObject[] = [
  clusterRole('gateway', [
    { apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'], verbs: ['impersonate'] },
    { apiGroups: ['authentication.k8s.io'], resources: ['*'], verbs: ['impersonate'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ]),
  clusterRole('index', [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }]),
  binding('gateway', 'gateway', 'gateway'),
  binding('index', 'index', 'portcullis:index'),
];

/** What the gateway's credential is in the members. */
export interface CredentialRights {
  readonly groups: readonly string[];
  /** Objects that give rights to it, and to `portcullis:index`. */
  readonly seed: readonly JsonObject[];
}

/** As the how-to says it. */
const usualRights: CredentialRights = { groups: [], seed: gatewayRights };

/**
 * Starts it.
 * @param seeds objects by name of the member, made before the gateway begins
 * @param labels labels of the clusters, by their names
 */
export async function startIndexSite(
  users: readonly string[],
  seeds: Readonly<Record<string, readonly JsonObject[]>>,
  flags: ConfigInput = {
    indexResources: 'configmaps,deployments.apps,horizontalpodautoscalers.autoscaling,namespaces,nodes,pods,secrets',
  },
  rights: CredentialRights = usualRights,
  labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): Promise<IndexSite> {
  const folder = tempDir('index');
  const members: Record<string, Simulator> = {};
  for (const [name, seed] of Object.entries(seeds)) {
    const tokens = { 'gateway-token': { name: 'gateway', groups: rights.groups } };
    members[name] = await startSimulator({ name, tokens, seed: [...rights.seed, ...seed], controllers: false });
  }
  const kubeconfig = join(folder, 'members.yaml');
  const each = Object.entries(members);
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: each.map(([name, { url, caPem }]) => ({
      name,
      cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
    })),
    users: [{ name: 'gateway', user: { token: 'gateway-token' } }],
    contexts: each.map(([name]) => {
      const extensions = [{ name: 'gateway.portcullis.io/labels', extension: labels[name] ?? {} }];
      return { name, context: { cluster: name, user: 'gateway', extensions } };
    }),
  });
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const tokenAuthFile = join(folder, 'tokens.csv');
  writeFileSync(tokenAuthFile, users.map((name) => `${name}-token,${name},,""\n`).join(''), { mode: 0o600 });
  const config = readConfig({
    listen: '127.0.0.1:0',
    opsListen: '127.0.0.1:0',
    dataDir: folder,
    kubeconfig: [kubeconfig],
    tokenAuthFile,
    ...flags,
  });
  const gateway = await startGateway(
    { ...config, shutdownDelayMs: 0, shutdownGraceMs: 1000 },
    makeLog('silent'),
    '0.0.0',
  );
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const start = (target: string, user: string, { method = 'GET', headers = {}, body }: AskOptions) => {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const request = httpsRequest(gateway.url + target, {
      method,
      agent,
      headers: {
        authorization: `Bearer ${user}-token`,
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    request.end(sent);
    return request;
  };
  return {
    gateway,
    members,
    ask: (target, user = users[0]!, options = {}) =>
      new Promise((resolve, reject) => {
        const request = start(target, user, options);
        request.on('error', reject);
        request.on('response', (response) => {
          let answer = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              text: answer,
              json: <T>() => JSON.parse(answer) as T,
            }),
          );
        });
      }),
    watch(target, user = users[0]!, headers = {}) {
      const request = start(target, user, { headers });
      const events: WatchEvent[] = [];
      const waiting = new Set<() => void>();
      const { promise: ended, resolve } = Promise.withResolvers<boolean>();
      let isOver = false;
      const over = (isWhole: boolean): void => {
        isOver = true;
        resolve(isWhole);
        for (const wake of waiting) wake();
      };
      request.on('error', () => over(false));
      request.on('response', (response) => {
        let rest = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop()!;
          events.push(...lines.map((line) => JSON.parse(line) as WatchEvent));
          for (const wake of waiting) wake();
        });
        response.on('error', () => over(false));
        response.on('end', () => over(true));
      });
      return {
        events,
        ended,
        close: () => request.destroy(),
        until: (count) =>
          new Promise((done, reject) => {
            const timer = setTimeout(() => look(true), 10_000);
            const look = (isLate = false): void => {
              const enough = events.filter(({ type }) => type !== 'BOOKMARK').length >= count;
              if (!enough && !isLate && !isOver) return;
              clearTimeout(timer);
              waiting.delete(wake);
              if (enough) done(events);
              else reject(new Error(`only these events came: ${JSON.stringify(events).slice(0, 2000)}`));
            };
            const wake = (): void => look();
            waiting.add(wake);
            look();
          }),
      };
    },
    async close() {
      agent.destroy();
      gateway.close();
      await Promise.all(Object.values(members).map((member) => member.close()));
    },
  };
}
