// Step 11: the cluster record, read once, with the credential and the connections that belong to it. Since `authorize`
// the request may have waited for the hub or for its turn, and another cluster may have taken the name meanwhile.
// Nobody has decided whether the caller may reach that one, so it is refused.
import { isAsJudged } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import { locate as locateTarget } from '../../routing/members/target.ts';
import { located } from '../exchange.ts';
import type { Dispatched, Located } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

export function locate(state: Dispatched, dependencies: ChainDependencies): Located | Promise<Located> {
  const target = locateTarget(state.surface.cluster, dependencies.clusters.get, dependencies.connections);
  if (target instanceof Promise) {
    return target.then((ready) => {
      requireJudged(state, ready.record.spec);
      return located(state, ready);
    });
  }
  requireJudged(state, target.record.spec);
  return located(state, target);
}

/** By all that rules may know of a cluster. @throws GatewayError CLUSTER_UNUSABLE */
function requireJudged({ judged }: Dispatched, spec: ClusterSpec): void {
  if (judged !== undefined && isAsJudged(judged, spec)) return;
  const { name } = spec;
  throw new GatewayError(
    'CLUSTER_UNUSABLE',
    `cluster "${name}" was registered anew while the request waited; ask again`,
    { cluster: name },
  );
}
