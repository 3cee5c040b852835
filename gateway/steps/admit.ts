// Step 8: a seat for the request, of its user, its cluster and the gateway; or it waits its turn, or gets 429
// (gateway/limits/admission.ts). It comes after `authorize`, so that nobody takes a seat in another user's name.
import { gone } from '../limits/waiting-request.ts';
import { answered } from '../step.ts';
import type { Authorized } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

export function admit(
  state: Authorized,
  { admission }: ChainDependencies,
): Authorized | Promise<Authorized | typeof answered> {
  const { surface, user, inbound } = state;
  // Health checks are answered above all when the gateway is full.
  if (surface.kind === 'health') return state;
  const cluster = surface.kind === 'member' ? surface.cluster : '';
  if (state.observation.longRunning) {
    admission.enterStream(user, cluster, inbound);
    return state;
  }
  const waiting = admission.enter(user, cluster, isMutating(state.info.verb), inbound);
  return waiting === undefined ? state : waiting.then((turn) => (turn === gone ? answered : state));
}

/** As kube-apiserver divides them: get, list and watch only read (apiserver:pkg/server/filters/maxinflight.go). */
function isMutating(verb: string): boolean {
  return verb !== 'get' && verb !== 'list' && verb !== 'watch' && verb !== 'head' && verb !== 'options';
}
