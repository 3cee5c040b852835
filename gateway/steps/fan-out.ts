// Step 9: a request for every cluster (`*`) ends here. Each cluster is asked as the caller, after the same checks as
// for a request to it alone, and the answers are joined. There are two steps, one for each chain, as with `forward`:
// fanOut cannot leave the identity out.
import { answered } from '../step.ts';
import type { Authorized } from '../exchange.ts';
import { answerFanout } from '../fanout/answer.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';
import { namesEveryCluster } from '../request/routes.ts';

/** Asks each cluster as whom the `impersonate` step would. */
export function fanOut(state: Authorized, dependencies: ChainDependencies): Authorized | Promise<typeof answered> {
  if (!namesEveryCluster(state.surface)) return state;
  const done = answerFanout(state, state.surface, dependencies, (cluster) =>
    dependencies.outgoingIdentity(state.user, cluster),
  );
  return done.then(() => answered);
}

/** Asks each cluster with the credential of the person's own kubeconfig context. Only for `--identity=self`. */
export function fanOutAsSelf(
  state: Authorized,
  dependencies: ChainDependencies,
): Authorized | Promise<typeof answered> {
  if (!namesEveryCluster(state.surface)) return state;
  return answerFanout(state, state.surface, dependencies, () => 'self').then(() => answered);
}
