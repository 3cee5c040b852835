// Requests by Karmada's path `proxying/<name>/proxy/…`. Reads of objects are answered from the index. A write, and a
// subresource such as a pod's log, goes to the one cluster that has the object. Security: it passes the same steps as a
// request to `/clusters/<name>/proxy`, so the caller needs the same rights, and the cluster sees the caller.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec, IdentityMode } from '../../model/records.ts';
import type { User } from '../../model/user.ts';
import { headerValue } from '../../routing/forward/headers.ts';
import type { ChainDependencies } from '../steps/chain-dependencies.ts';
import type { Authorized, Dispatched } from '../../request/exchange.ts';
import { endStream } from '../open-streams/ended-streams.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import { clustersResource } from '../../request/routes.ts';
import { readBody } from '../../request/answer/request-body.ts';
import type { ProxyingSurface } from '../../request/index-groups.ts';
import { sendToCluster } from './index-live.ts';
import { innerInfo } from '../../request/proxying-request.ts';
import { asInCluster } from '../../api/index/put-back.ts';

/** An object that one of the clusters has; the namespace is undefined for a cluster-scoped object. */
export interface OwnedObject {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * Returns the name of the only cluster from which this user may get the object.
 * @throws GatewayError (rejects) NOT_FOUND or CONFLICT
 */
export type FindOwner = (user: User, object: OwnedObject) => Promise<string>;

/** Maximum bytes of an object in an update, as in kube-apiserver. A larger body is refused with TOO_LARGE. */
const mostObjectBytes = 3 * 1024 * 1024;

/**
 * Sends a request about one object to the cluster that has the object, and relays the answer. Resolves when the answer
 * was sent or, for a stream, has begun.
 * @throws GatewayError (rejects) before any byte was sent: METHOD_NOT_ALLOWED for a request without a name, NOT_FOUND
 * and CONFLICT when the object is in no cluster or in several, FORBIDDEN as for a request to the cluster itself
 */
export async function askOwner(
  state: Authorized,
  proxying: ProxyingSurface,
  dependencies: ChainDependencies,
  { identity, findOwner }: { readonly identity: IdentityMode; readonly findOwner: FindOwner },
): Promise<void> {
  const info = innerInfo(state, proxying);
  const cluster = await findOwner(state.user, ownedObject(info));
  const spec = dependencies.clusters.get(cluster)?.spec;
  if (spec === undefined || !(await state.access!.mayReach(spec))) throw forbiddenThere(info, cluster);
  const { name, uid, labels } = spec;
  const { prefix, segments, path } = proxying;
  state.observation.cluster = name;
  const body = await rewrittenBody(state, info, name);
  followRight(state, spec);
  const dispatched: Dispatched = {
    ...state,
    surface: { kind: 'member', cluster: name, outer: clustersResource, path, segments, prefix, hasOwnOrigin: false },
    info,
    authorizedCluster: { name, uid, labels },
    body,
  };
  await sendToCluster(dispatched, dependencies, identity);
}

/** The object that the request names. @throws GatewayError METHOD_NOT_ALLOWED when the request names no object */
function ownedObject({ isResource, verb, apiGroup, apiVersion, resource, namespace, name }: RequestInfo): OwnedObject {
  if (!isResource || name === '' || verb === 'proxy' || verb === '') {
    const what = isResource ? `${verb} is not supported on ${resource}` : 'only GET and HEAD are supported here';
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `${what}: the request does not say which cluster it is for; send it to the cluster itself, below /clusters/<name>/proxy`,
      { kind: resource, group: apiGroup },
    );
  }
  const isNamespaced = namespace !== '' && !(apiGroup === '' && resource === 'namespaces');
  return { group: apiGroup, version: apiVersion, resource, namespace: isNamespaced ? namespace : undefined, name };
}

function forbiddenThere({ verb, resource, subresource, name, apiGroup }: RequestInfo, cluster: string): GatewayError {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  return new GatewayError('FORBIDDEN', `${what} "${name}" is forbidden: you may not ${verb} it in its cluster`, {
    kind: resource,
    group: apiGroup,
    name,
    cluster,
  });
}

/**
 * The body of an update, without the annotations and the resourceVersion that the index had put into the object when
 * the client read it; undefined for a request whose body goes to the cluster unchanged.
 * @throws GatewayError (rejects) UNSUPPORTED_MEDIA_TYPE for an update that is not JSON, TOO_LARGE, CONFLICT
 */
async function rewrittenBody(
  { inbound, headers }: Authorized,
  { verb, subresource }: RequestInfo,
  cluster: string,
): Promise<Buffer | undefined> {
  if (verb !== 'update' || subresource === 'proxy' || inbound.body === 'none') return undefined;
  const type = headerValue(headers, 'content-type')?.split(';')[0]!.trim().toLowerCase() ?? 'application/json';
  if (type !== 'application/json' || headerValue(headers, 'content-encoding') !== undefined) {
    throw new GatewayError(
      'UNSUPPORTED_MEDIA_TYPE',
      'this path accepts updates as application/json only; send other formats to the cluster itself, below /clusters/<name>/proxy',
    );
  }
  return asInCluster(await readBody(inbound, mostObjectBytes), cluster);
}

/** For a stream, checks regularly that the caller may still use the cluster, and ends the stream when not. */
function followRight(state: Authorized, cluster: ClusterSpec): void {
  const { inbound, observation, progress } = state;
  if (!observation.longRunning) return;
  const forget = state.access!.follow(cluster, (reason) => {
    observation.error = reason;
    endStream(progress.open ?? inbound, reason);
  });
  inbound.onClose(forget);
}
