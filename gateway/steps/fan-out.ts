// Step 10 of the chain: answers a request for all clusters (`*`). Each cluster gets the request as the caller, after
// the same checks as for a request to this cluster alone, and the answers are joined. Security: there are two
// functions, one for each chain, so that `fanOut` cannot leave out the impersonated user by mistake.
import { answered } from './step.ts';
import type { Authorized } from '../../request/exchange.ts';
import { answerFanout } from '../../api/fanout/answer.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { namesEveryCluster } from '../../request/routes.ts';

/** Answers a request for all clusters. Each cluster gets it as the user whom the step `impersonate` would choose. */
export function fanOut(state: Authorized, dependencies: ChainDependencies): Authorized | Promise<typeof answered> {
  if (!namesEveryCluster(state.surface)) return state;
  const done = answerFanout(state, state.surface, dependencies, (cluster) =>
    dependencies.outgoingIdentity(state.user, cluster),
  );
  return done.then(() => answered);
}

/**
 * Answers a request for all clusters when the gateway runs with `--identity=self`. Each cluster gets the request with
 * the credential of its own kubeconfig context.
 */
export function fanOutAsSelf(
  state: Authorized,
  dependencies: ChainDependencies,
): Authorized | Promise<typeof answered> {
  if (!namesEveryCluster(state.surface)) return state;
  return answerFanout(state, state.surface, dependencies, () => 'self').then(() => answered);
}
