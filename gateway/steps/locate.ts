// Step 12 of the chain: reads the cluster record once, with its credential and connections. Since the step `authorize`
// the request may have waited, and another cluster may have taken the name in the meantime. Security: the caller's
// right to that other cluster was never checked, so the request is then refused.
import { isAsAuthorized } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { locate as locateTarget } from '../../routing/members/target.ts';
import { located } from '../../request/exchange.ts';
import type { Dispatched, Located } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function locate(state: Dispatched, dependencies: ChainDependencies): Located | Promise<Located> {
  const target = locateTarget(state.surface.cluster, dependencies.clusters.get, dependencies.connections);
  if (target instanceof Promise) {
    return target.then((ready) => {
      requireAuthorized(state, ready.record.spec);
      return located(state, ready);
    });
  }
  requireAuthorized(state, target.record.spec);
  return located(state, target);
}

/**
 * Compares name, UID and labels of the cluster with those that the step `authorize` used, because authorization rules
 * may depend on them.
 * @throws GatewayError CLUSTER_UNUSABLE when one of them has changed
 */
function requireAuthorized({ authorizedCluster }: Dispatched, spec: ClusterSpec): void {
  if (authorizedCluster !== undefined && isAsAuthorized(authorizedCluster, spec)) return;
  const { name } = spec;
  throw new GatewayError('CLUSTER_UNUSABLE', `cluster "${name}" has changed while the request waited; try again`, {
    cluster: name,
  });
}
