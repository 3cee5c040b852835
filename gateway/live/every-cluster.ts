// Sends a read request below the paths of the index to every cluster, when the index has no rows to answer it from.
// Each cluster is asked as the caller, and only if the gateway's authorizer allows the caller this request to this
// cluster.
import type { ClusterSpec, IdentityMode } from '../../model/records.ts';
import type { EveryCluster } from '../../search/request/request.ts';
import type { ChainDependencies } from '../steps/chain-dependencies.ts';
import type { Authorized } from '../../request/exchange.ts';
import { answerFanout } from '../../api/fanout/answer.ts';
import { decisionsAtOnce } from '../../api/fanout/members/members.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import { withoutKeys } from '../../api/fanout/members/query.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { ClusterAccess } from '../../request/cluster-access.ts';
import { liveSurface } from './index-live.ts';

/** A parameter of the index that chooses clusters. Clusters do not get it. */
const ofIndex: ReadonlySet<string> = new Set(['clusters']);

/**
 * Sends the request and joins the answers. Resolves to true when the whole answer has been sent, and to false when the
 * caller may ask none of the clusters; then nothing was sent.
 * @throws GatewayError as {@link askEveryCluster}
 */
export async function askIfAny(
  state: Authorized,
  dependencies: ChainDependencies,
  identity: IdentityMode,
  asked: EveryCluster,
): Promise<boolean> {
  if (!(await mayAskOne(accessOf(state, asked), dependencies))) return false;
  await askEveryCluster(state, dependencies, identity, asked);
  return true;
}

/**
 * Sends the request and joins the answers; resolves when the whole answer has been sent. A caller who may ask none of
 * the clusters gets an empty list.
 * @throws GatewayError (rejects) before the answer began; after that, the caller of this function must cut the answer
 */
export async function askEveryCluster(
  state: Authorized,
  dependencies: ChainDependencies,
  identity: IdentityMode,
  question: EveryCluster,
): Promise<void> {
  const { path, query, notice } = question;
  const surface = liveSurface('*', path);
  const rest = withoutKeys(query, ofIndex);
  const target = { ...state.target, query: rest === '' ? '' : `?${rest}` };
  const info = requestInfo(state.inbound.method, surface.segments, target.query, false);
  const access = accessOf(state, question);
  state.observation.cluster = '*';
  const asked = { ...state, surface, info, access, target };
  const identityFor = (spec: ClusterSpec): ReturnType<ChainDependencies['outgoingIdentity']> | 'self' =>
    identity === 'self' ? 'self' : dependencies.outgoingIdentity(state.user, spec);
  await answerFanout(asked, surface, dependencies, identityFor, notice);
}

function accessOf({ access }: Authorized, { isAsked }: EveryCluster): ClusterAccess {
  const { mayReach, follow } = access!;
  return { mayReach: (cluster) => isAsked(cluster.name) && mayReach(cluster), follow };
}

async function mayAskOne(access: ClusterAccess, { clusters }: ChainDependencies): Promise<boolean> {
  let isFound = false;
  const specs = clusters.list().map(({ spec }) => spec);
  await inTurns(specs, decisionsAtOnce, async (spec) => {
    if (!isFound && (await access.mayReach(spec))) isFound = true;
  });
  return isFound;
}
