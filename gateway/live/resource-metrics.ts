// Resource metrics (`metrics.k8s.io`, as kubectl top reads them) below the paths of the index. API servers let nobody
// watch resource metrics, so the index has no copy of them. Each cluster is asked at the time of the request, as the
// caller, and only if the gateway's authorizer allows the caller this request to this cluster.
import { GatewayError } from '../../model/errors.ts';
import type { IdentityMode } from '../../model/records.ts';
import type { ChainDependencies } from '../steps/chain-dependencies.ts';
import type { Authorized } from '../../request/exchange.ts';
import { queryFlag, requestInfo } from '../../request/request-info.ts';
import { urlParameters } from '../../query/parameters.ts';
import type { MetricsQuestion } from '../../api/index/metrics-question.ts';
import { askEveryCluster } from './every-cluster.ts';
import { askLive, liveSurface } from './index-live.ts';

/**
 * Asks one cluster or all clusters for resource metrics; resolves when the whole answer has been sent.
 * @throws GatewayError (rejects) before the answer began; after that, the caller of this function must cut the answer
 */
export async function askMetrics(
  state: Authorized,
  dependencies: ChainDependencies,
  identity: IdentityMode,
  { cluster, path }: MetricsQuestion,
): Promise<void> {
  const { query } = state.target;
  const { method } = state.inbound;
  if (method !== 'GET' && method !== 'HEAD')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'metrics of pods and nodes can only be read');
  if (queryFlag(query, 'watch')) throw unwatched();
  if (cluster !== undefined) return await askLive(state, dependencies, identity, { cluster, path, query });
  const { verb } = requestInfo(method, liveSurface('*', path).segments, query, false);
  if (verb !== 'get' && verb !== 'list') throw unwatched();
  const named = urlParameters(query.slice(1)).list('clusters');
  const isAsked = (name: string): boolean => named === undefined || named.includes(name);
  await askEveryCluster(state, dependencies, identity, { path, query, isAsked, notice: undefined });
}

function unwatched(): GatewayError {
  return new GatewayError('METHOD_NOT_ALLOWED', 'metrics of pods and nodes cannot be watched; list them again instead');
}
