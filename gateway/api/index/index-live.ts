// Asks a cluster itself when the index cannot answer: another version of a type, OpenAPI, Clusterpedia's forward label.
// The same code as for `/clusters/<name>/proxy` authorizes, locates and sends the request.
import { forbidden } from '../../../auth/rules/authorize.ts';
import { GatewayError } from '../../../cache/model/errors.ts';
import type { IdentityMode } from '../../../cache/model/records.ts';
import type { Authorized, Dispatched } from '../../exchange.ts';
import { parseTarget } from '../../request/path.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { ChainDependencies } from '../../chain-dependencies.ts';
import { gatewayGroup, gatewayVersion } from '../../request/routes.ts';
import type { Surface } from '../../request/routes.ts';
import { attributesOf } from '../../steps/authorize.ts';
import { forward, forwardAsSelf } from '../../steps/forward.ts';
import { impersonate } from '../../steps/impersonate.ts';
import { locate } from '../../steps/locate.ts';

/** The question to the cluster. */
export interface LiveQuestion {
  readonly cluster: string;
  /** Path on the cluster, without query. */
  readonly path: string;
  /** With `?`, or ''. */
  readonly query: string;
}

/**
 * Sends the question and relays the answer.
 * @throws GatewayError (rejects) before anything was sent; FORBIDDEN when the caller may not ask the cluster
 */
export async function askLive(
  state: Authorized,
  dependencies: ChainDependencies,
  identity: IdentityMode,
  { cluster, path, query }: LiveQuestion,
): Promise<void> {
  const target = parseTarget(path + query);
  const info = requestInfo(state.inbound.method, target.segments, query, false);
  if (info.verb === 'watch')
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      `the index asks a cluster for lists and objects only; watch it below /clusters/${cluster}/proxy`,
    );
  const outer = { group: gatewayGroup, version: gatewayVersion, resource: 'clusters' };
  const surface: Extract<Surface, { kind: 'member' }> = {
    kind: 'member',
    cluster,
    outer,
    path,
    segments: target.segments,
    prefix: '',
  };
  const spec = dependencies.clusters.get(cluster)?.spec;
  const asked = { name: cluster, uid: spec?.uid ?? '', labels: spec?.labels ?? {} };
  const attributes = attributesOf(state.user, asked, { ...outer, httpVerb: 'get' }, info, path);
  const decision = await dependencies.authorizer.authorize(attributes);
  if (!decision.allowed) throw forbidden(attributes, decision.reason);
  state.observation.cluster = cluster;
  const dispatched: Dispatched = { ...state, surface, info, target: { ...target, query }, judged: asked };
  const located = await locate(dispatched, dependencies);
  if (identity === 'self') await forwardAsSelf(located, dependencies);
  else await forward(impersonate(located, dependencies), dependencies);
}
