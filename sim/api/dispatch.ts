// Chooses the handler of a request: by resource, subresource and verb, or by path for discovery, health and OpenAPI. A
// verb that a resource does not support gets 405, and an unknown resource 404.
import { sendObject } from '../call/answer.ts';
import type { Call } from '../call/cluster.ts';
import { deleteMany, deleteOne } from './delete.ts';
import { serveDiscovery, versionInfo } from './discovery.ts';
import { evictPod } from './eviction.ts';
import { getOne, listMany } from './list.ts';
import { serveOpenApi } from './openapi.ts';
import { patchOne } from './patch.ts';
import type { Resource } from '../store/resources.ts';
import { isMetrics, serveMetrics } from './resource-metrics.ts';
import { createReview, createToken } from './reviews.ts';
import { serveScale } from './scale.ts';
import { StatusError, badRequest, methodNotAllowed, noSuchPath, noSuchResource } from '../model/status-error.ts';
import type { StreamHooks } from '../streams/stream-hooks.ts';
import { serveLogCall } from '../streams/streams-calls.ts';
import { bindPod, createOne, updateOne } from './write.ts';
import { watchMany } from './watch.ts';

/**
 * Calls the handler for an authorized request. @throws StatusError when there is no handler for this path and verb, or
 * when the handler refuses the request
 */
export async function dispatch(call: Call, streams: StreamHooks): Promise<void> {
  const { info } = call;
  if (!info.isResourceRequest) return servePath(call);
  const resource = resourceOf(call);
  if (info.subresource !== '') return serveSubresource(call, resource, streams);
  if (isReview(resource)) {
    if (info.verb !== 'create') throw methodNotAllowed();
    return createReview(call, resource);
  }
  if (isMetrics(resource)) return serveMetrics(call, resource);
  const scoped = resource.key === '/namespaces' ? withoutNamespace(call) : call;
  switch (info.verb) {
    case 'get':
      return getOne(requireNamespace(scoped, resource), resource);
    case 'list':
      return listMany(scoped, resource);
    case 'watch':
      return watchMany(scoped, resource);
    case 'create':
      if (info.name !== '') throw methodNotAllowed();
      return createOne(requireNamespace(scoped, resource), resource);
    case 'update':
      return updateOne(requireNamed(scoped, resource), resource);
    case 'patch':
      return patchOne(requireNamed(scoped, resource), resource);
    case 'delete':
      return deleteOne(requireNamed(scoped, resource), resource);
    case 'deletecollection':
      if (!resource.verbs.includes('deletecollection')) throw methodNotAllowed();
      return deleteMany(scoped, resource);
    default:
      throw methodNotAllowed();
  }
}

/** The resource that the path names. @throws StatusError 404 when this server does not have it */
function resourceOf({ cluster, info }: Call): Resource {
  const resource = cluster.registry.find(info.group, info.version, info.resource);
  if (resource === undefined || (info.namespace !== '' && !resource.namespaced && info.resource !== 'namespaces'))
    throw noSuchResource();
  if (info.parts.length > 3 && info.subresource !== 'proxy') throw noSuchResource();
  return resource;
}

function isReview(resource: Resource): boolean {
  return resource.group === 'authentication.k8s.io' || resource.group === 'authorization.k8s.io';
}

/**
 * Returns the call without a namespace, for requests for Namespace objects. Of `/api/v1/namespaces/x`, `x` was read as
 * name and as namespace, but a Namespace is cluster-scoped.
 */
function withoutNamespace(call: Call): Call {
  return { ...call, info: { ...call.info, namespace: '' } };
}

function requireNamespace(call: Call, resource: Resource): Call {
  if (resource.namespaced && call.info.namespace === '') throw methodNotAllowed();
  return call;
}

function requireNamed(call: Call, resource: Resource): Call {
  if (call.info.name === '') throw methodNotAllowed();
  return requireNamespace(call, resource);
}

async function serveSubresource(call: Call, resource: Resource, streams: StreamHooks): Promise<void> {
  const { info } = call;
  const sub = resource.subresources.find((entry) => entry.name === info.subresource);
  if (sub === undefined) throw noSuchResource();
  if (!sub.verbs.includes(info.verb)) throw methodNotAllowed();
  const scoped = resource.key === '/namespaces' ? withoutNamespace(call) : call;
  switch (info.subresource) {
    case 'scale':
      return serveScale(call, resource);
    case 'log':
      return serveLogCall(call, streams);
    case 'exec':
    case 'attach':
    case 'portforward':
      throw badRequest('Upgrade request required');
    case 'eviction':
      return evictPod(call, resource);
    case 'binding':
      return bindPod(call, resource);
    case 'token':
      return createToken(call);
    case 'proxy':
      throw new StatusError(
        503,
        'ServiceUnavailable',
        `the simulated ${resource.singular} "${info.name}" answers no HTTP requests`,
      );
    default:
      if (info.verb === 'get') return getOne(scoped, resource);
      return info.verb === 'update' ? updateOne(scoped, resource) : patchOne(scoped, resource);
  }
}

const healthPaths = /^\/(healthz|livez|readyz)(\/(ping|etcd|log))?$/;

async function servePath(call: Call): Promise<void> {
  const { path } = call.info;
  if (call.info.verb !== 'get' && call.info.verb !== 'head') throw methodNotAllowed();
  if (healthPaths.test(path)) return serveHealth(call);
  if (path === '/version' || path === '/version/') return sendObject(call, 200, versionInfo(call.cluster));
  if (path === '/')
    return sendObject(call, 200, {
      paths: ['/api', '/apis', '/healthz', '/livez', '/openapi/v3', '/readyz', '/version'],
    });
  if (path === '/openapi/v3' || path.startsWith('/openapi/')) return serveOpenApi(call);
  if (!(await serveDiscovery(call))) throw noSuchPath();
}

async function serveHealth(call: Call): Promise<void> {
  const name = call.info.path.split('/')[1] ?? '';
  const isVerbose = call.query.has('verbose');
  const body = isVerbose ? `[+]ping ok\n[+]log ok\n[+]etcd ok\n${name} check passed\n` : 'ok';
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'audit-id': call.auditId,
  };
  call.reply.writeHead(200, { ...headers, 'content-length': String(body.length) }).end(body);
}
