// Step 13 of the chain: decides which user the member cluster will see. Easy to get wrong: a request without
// impersonation headers runs with the gateway's own rights. So when the user cannot be decided, this step throws before
// anything is sent, and the types of the chain allow no `forward` without this step.
import type { User } from '../../model/user.ts';
import { impersonating } from '../../request/exchange.ts';
import { endStream } from '../open-streams/ended-streams.ts';
import type { Impersonating, Located } from '../../request/exchange.ts';
import type { OutgoingStream } from '../../api/fanout/members/dependencies.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function impersonate(state: Located, dependencies: ChainDependencies): Impersonating {
  const outgoing = dependencies.outgoingIdentity(state.user, state.record.spec);
  if (state.observation.longRunning) followWhileOpen(state, outgoing, dependencies);
  return impersonating(state, outgoing);
}

/**
 * Follows a long-running request and ends it when a change of the rules gives its user another identity in the cluster.
 */
function followWhileOpen(state: Located, outgoing: User, dependencies: ChainDependencies): void {
  const { outgoingStreams } = dependencies;
  if (outgoingStreams === undefined) return;
  const { inbound, observation, progress, user } = state;
  const stream: OutgoingStream = {
    user,
    cluster: state.record.spec,
    outgoing,
    end(reason) {
      // The request is cut even before its answer has begun: it has already been sent to the cluster under the old
      // identity.
      observation.error = reason;
      endStream(progress.open ?? inbound, reason);
    },
  };
  outgoingStreams.follow(stream);
  inbound.onClose(() => outgoingStreams.forget(stream));
}
