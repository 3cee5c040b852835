// Step 9 of the chain: the request waits until the limits of its user, its cluster and the gateway allow it to run, or
// gets 429 (gateway/limits/admission.ts). This step comes after `authorize`, so that nobody can use up the limits of
// another user.
import { gone } from '../limits/waiting-request.ts';
import { answered } from './step.ts';
import type { Authorized } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function admit(
  state: Authorized,
  { admission }: ChainDependencies,
): Authorized | Promise<Authorized | typeof answered> {
  const { surface, user, inbound } = state;
  // Health checks are never refused, because they matter most when the gateway has reached its limits.
  if (surface.kind === 'health') return state;
  const cluster = surface.kind === 'member' ? surface.cluster : '';
  if (state.observation.longRunning) {
    admission.enterStream(user, cluster, inbound, state.upgrade !== undefined);
    return state;
  }
  const waiting = admission.enter(user, cluster, isMutating(state.info.verb), inbound);
  return waiting === undefined ? state : waiting.then((turn) => (turn === gone ? answered : state));
}

/**
 * Whether a request with this verb may change something. The verbs are divided as in kube-apiserver
 * (pkg/server/filters/maxinflight.go of k8s.io/apiserver).
 */
function isMutating(verb: string): boolean {
  return verb !== 'get' && verb !== 'list' && verb !== 'watch' && verb !== 'head' && verb !== 'options';
}
