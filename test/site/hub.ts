// A pretend hub: it publishes whom it trusts, reviews tokens and access as a test says, and can be taken away. The
// gateway follows the ConfigMap by a watch, so a change must reach that watch, and a test must wait until the gateway
// acts on it.
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { newServer, sendJson } from '../pretend/server.ts';
import { kubeconfigOf } from '../pretend/kubeconfig.ts';

/** What a review's `spec` is, as far as tests look at it. */
export interface ReviewSpec {
  readonly token?: string;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly resourceAttributes?: Readonly<Record<string, string>>;
  readonly nonResourceAttributes?: Readonly<Record<string, string>>;
}

/** The `status` of a review. */
export type ReviewStatus = Readonly<Record<string, unknown>>;

export interface PretendHub {
  /** A kubeconfig to it. */
  readonly kubeconfig: string;
  /** Every review that was asked for, in order. */
  readonly reviews: ReviewSpec[];
  /** Other requests, as `METHOD path`. */
  readonly requests: string[];
  /** May be replaced by tests. */
  tokens: (token: string) => ReviewStatus;
  access: (spec: ReviewSpec) => ReviewStatus;
  /** What stands in the ConfigMap from now on. */
  publish(data: Readonly<Record<string, string>>): void;
  /** Cuts every connection and answers no new one until `up()`. */
  down(): void;
  up(): void;
  close(): void;
}

const configMap = { namespace: 'kube-system', name: 'extension-apiserver-authentication', uid: 'trust' };

/** Starts one that knows no token and allows everything. */
export async function startPretendHub(initial: Readonly<Record<string, string>>): Promise<PretendHub> {
  const authority = await makeTestAuthority('pretend hub');
  const certificate = await authority.issue(['ip:127.0.0.1']);
  const folder = tempDir('hub');
  const watches = new Set<ServerResponse>();
  let data = initial;
  let version = 1;
  let isDown = false;
  const object = (): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...configMap, resourceVersion: String(version) },
    data,
  });
  const event = (): string => `${JSON.stringify({ type: 'MODIFIED', object: object() })}\n`;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '';
    if (url.includes('/configmaps')) {
      if (!url.includes('watch=')) {
        sendJson(response, 200, {
          apiVersion: 'v1',
          kind: 'ConfigMapList',
          metadata: { resourceVersion: String(version) },
          items: [object()],
        });
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      watches.add(response);
      response.on('close', () => watches.delete(response));
      if (Number(new URL(url, 'https://hub').searchParams.get('resourceVersion')) < version) response.write(event());
      return;
    }
    const review = /\/(tokenreviews|subjectaccessreviews)$/.exec(url)?.[1];
    if (review === undefined) {
      hub.requests.push(`${request.method} ${url}`);
      sendJson(response, 404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 });
      return;
    }
    const body = (await json(request)) as { spec: ReviewSpec };
    hub.reviews.push(body.spec);
    const status = review === 'tokenreviews' ? hub.tokens(body.spec.token ?? '') : hub.access(body.spec);
    sendJson(response, 201, { ...body, status });
  };
  const server = await newServer((request, response) => {
    if (isDown) request.socket.destroy();
    else void answer(request, response);
  }, certificate);
  const kubeconfig = join(folder, 'hub.kubeconfig');
  const config = kubeconfigOf({ server: server.url, caPem: authority.ca }, { token: 'gateway-on-hub' });
  writeFileSync(kubeconfig, JSON.stringify(config));
  const hub: PretendHub = {
    kubeconfig,
    reviews: [],
    requests: [],
    tokens: () => ({ authenticated: false, error: 'unknown token' }),
    access: () => ({ allowed: true }),
    publish(next) {
      data = next;
      version += 1;
      for (const watch of watches) watch.write(event());
    },
    down() {
      isDown = true;
      server.closeClientConnections();
    },
    up: () => void (isDown = false),
    close: () => void server.close(),
  };
  return hub;
}
