// Sends a read request to a cluster when the index cannot answer it: another version of a type, OpenAPI, or a list with
// Clusterpedia's forward label. The request is authorized, located and sent by the same code as a request to
// `/clusters/<name>/proxy`.
import { forbidden } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import type { IdentityMode } from '../../model/records.ts';
import type { LiveQuestion } from '../../api/index/index-answers.ts';
import type { Authorized, Dispatched } from '../../request/exchange.ts';
import { parseTarget } from '../../request/path.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { ChainDependencies } from '../steps/chain-dependencies.ts';
import { clustersResource } from '../../request/routes.ts';
import type { Surface } from '../../request/routes.ts';
import { attributesOf } from '../../request/attributes.ts';
import { forward, forwardAsSelf } from '../steps/forward.ts';
import { impersonate } from '../steps/impersonate.ts';
import { locate } from '../steps/locate.ts';

/**
 * Sends the request to the cluster and relays its answer to the client.
 * @throws GatewayError (rejects), always before any byte was sent; FORBIDDEN when the caller has no right to use the
 * cluster
 */
export async function askLive(
  state: Authorized,
  dependencies: ChainDependencies,
  identity: IdentityMode,
  { cluster, path, query }: LiveQuestion,
): Promise<void> {
  const target = parseTarget(path + query);
  const surface = liveSurface(cluster, path);
  const info = requestInfo(state.inbound.method, target.segments, query, false);
  if (info.verb === 'watch')
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `the index asks a cluster for lists and objects only; watch it below /clusters/${cluster}/proxy`,
    );
  const spec = dependencies.clusters.get(cluster)?.spec;
  const asked = { name: cluster, uid: spec?.uid ?? '', labels: spec?.labels ?? {} };
  const attributes = attributesOf(state.user, asked, { ...surface.outer, httpVerb: 'get' }, info, path);
  const decision = await dependencies.authorizer.authorize(attributes);
  if (!decision.allowed) throw forbidden(attributes, decision.reason);
  state.observation.cluster = cluster;
  const dispatched: Dispatched = { ...state, surface, info, target: { ...target, query }, authorizedCluster: asked };
  await sendToCluster(dispatched, dependencies, identity);
}

/**
 * Runs the last steps of the chain (from `locate` on) for a request that was authorized already: counts it against the
 * limits of the cluster of its surface, sends it there and relays the answer. The chain itself has counted it as a
 * request that the gateway answers.
 * @throws GatewayError (rejects), always before any byte was sent; TOO_MANY_REQUESTS when a limit is reached
 */
export async function sendToCluster(
  dispatched: Dispatched,
  dependencies: ChainDependencies,
  identity: IdentityMode,
): Promise<void> {
  const { inbound, observation, surface, upgrade, user } = dispatched;
  const kind = upgrade !== undefined ? 'upgrade' : observation.longRunning ? 'stream' : 'request';
  inbound.onClose(dependencies.admission.enterMember(user, surface.cluster, kind));
  const located = await locate(dispatched, dependencies);
  if (identity === 'self') await forwardAsSelf(located, dependencies);
  else await forward(impersonate(located, dependencies), dependencies);
}

/**
 * The surface of `path` on a cluster, as if the request had come by `/clusters/<name>/proxy`; `*` means all clusters.
 */
export function liveSurface(cluster: string, path: string): Extract<Surface, { kind: 'member' }> {
  return {
    kind: 'member',
    cluster,
    outer: clustersResource,
    path,
    segments: parseTarget(path).segments,
    prefix: `/clusters/${cluster}/proxy`,
    hasOwnOrigin: false,
  };
}
