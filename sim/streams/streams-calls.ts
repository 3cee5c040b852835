// Checks requests for logs, exec, attach and port-forward as kube-apiserver does, finds pod and container, and calls
// the handler. A WebSocket upgrade is a GET request, so its verb is `get`, but the user also needs the right to
// `create` (kubernetes 1.35, PR 134577).
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { commonHeaders } from '../call/answer.ts';
import { forbiddenBy, type Attributes } from '../access/authorize.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import type { RequestInfo } from '../model/request-info.ts';
import { StatusError, badRequest, noSuchResource, notFound } from '../model/status-error.ts';
import type { StreamHooks } from './stream-hooks.ts';
import { logFault } from './log.ts';
import { containerSpec, containerStatus } from './shell/containers.ts';
import type { JsonObject, KubeObject, SimUser } from '../model/types.ts';

const kinds = ['exec', 'attach', 'portforward'] as const;

/** Whether this path is one of exec, attach or port-forward, which upgrade the connection. */
export function isUpgradePath(path: string): boolean {
  return /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/(exec|attach|portforward)$/.test(path);
}

function podOf(cluster: Cluster, info: RequestInfo): KubeObject {
  const pod = cluster.store.get('/pods', info.namespace, info.name);
  if (pod === undefined) throw notFound({ group: '', plural: 'pods' }, info.name);
  return pod;
}

/** The name of the container that a request is for: the container in the query, or the pod's only container. */
function containerOf(pod: KubeObject, query: URLSearchParams): string {
  const regular: readonly JsonObject[] = pod['spec']?.containers ?? [];
  const wanted = query.get('container') ?? '';
  if (wanted !== '') {
    if (containerSpec(pod, wanted) !== undefined) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${pod.metadata.name}`);
  }
  if (regular.length === 1 && regular[0] !== undefined) return String(regular[0]['name']);
  const list = regular.map((container) => String(container['name'])).join(' ');
  throw badRequest(`a container name must be specified for pod ${pod.metadata.name}, choose one of: [${list}]`);
}

/** Answers GET of pods/log. */
export function serveLogCall(call: Call, hooks: StreamHooks): void {
  const { cluster, query, reply, info } = call;
  const pod = podOf(cluster, info);
  const container = containerOf(pod, query);
  if ((pod['spec']?.nodeName ?? '') === '') {
    reply.writeHead(200, { ...commonHeaders(call, 'text/plain') }).end();
    return;
  }
  checkStarted(pod, container);
  const fault = logFault(pod, container, query);
  if (fault !== undefined) throw badRequest(fault);
  const listeners: (() => void)[] = [];
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    untrack();
    for (const listener of listeners.splice(0)) listener();
  };
  const untrack = cluster.trackStream(() => {
    reply.end();
    over();
  });
  reply.once('close', over);
  reply.writeHead(200, commonHeaders(call, 'text/plain'));
  reply.flushHeaders();
  hooks.serveLog({
    pod,
    container,
    query,
    write: (chunk) => reply.destroyed || reply.write(chunk),
    end: () => void reply.end(),
    onClose: (listener) => void (isOver ? listener() : listeners.push(listener)),
  });
}

/**
 * Refuses the log of a container that has never run. A container that waits for its next start, as in a crash loop, has
 * the log of its last run.
 */
function checkStarted(pod: KubeObject, container: string): void {
  const status = containerStatus(pod, container);
  const waiting = status?.['state']?.waiting;
  if (waiting !== undefined && status?.['lastState']?.terminated === undefined)
    throw badRequest(`container "${container}" in pod "${pod.metadata.name}" is waiting to start: ${waiting.reason}`);
}

/**
 * Checks an authorized upgrade request and passes it to the handler.
 * @throws StatusError when the request is refused; nothing was written to the socket then
 */
export function serveUpgradeCall(
  scene: {
    readonly cluster: Cluster;
    readonly info: RequestInfo;
    readonly user: SimUser;
    readonly query: URLSearchParams;
    readonly req: IncomingMessage;
    readonly socket: Duplex;
    readonly head: Buffer;
  },
  hooks: StreamHooks,
): void {
  const { cluster, info, user, query } = scene;
  const kind = kinds.find((name) => name === info.subresource);
  if (kind === undefined || info.resource !== 'pods' || info.group !== '') throw noSuchResource();
  if (info.verb === 'get') {
    const attributes: Attributes = { ...info, user, verb: 'create' };
    const { path: _path, ...resourceAttributes } = attributes;
    const decision = cluster.authorize(resourceAttributes);
    if (!decision.isAllowed) throw forbiddenBy(resourceAttributes, decision.reason);
  }
  const pod = podOf(cluster, info);
  const container = kind === 'portforward' ? '' : containerOf(pod, query);
  if ((pod['spec']?.nodeName ?? '') === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  if (kind !== 'portforward' && pod['status']?.phase !== 'Running')
    throw new StatusError(
      400,
      'BadRequest',
      `cannot exec into a container in a completed pod; current phase is ${pod['status']?.phase}`,
    );
  hooks.serveUpgrade({ kind, pod, container, query, req: scene.req, socket: scene.socket, head: scene.head });
}
