// Step 12: the identity the member will see. Easy to get wrong: a member takes a missing identity for the gateway
// itself. So what cannot be decided is thrown here, before anything was sent, and there is no way to `forward` around
// this step.
import type { User } from '../../cache/model/user.ts';
import { impersonating } from '../exchange.ts';
import { endStream } from '../open-streams/ended-streams.ts';
import type { Impersonating, Located } from '../exchange.ts';
import type { OutgoingStream } from '../open-streams/outgoing-streams.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

export function impersonate(state: Located, dependencies: ChainDependencies): Impersonating {
  const outgoing = dependencies.outgoingIdentity(state.user, state.record.spec);
  if (state.observation.longRunning) followWhileOpen(state, outgoing, dependencies);
  return impersonating(state, outgoing);
}

/** Whatever may stay open ends when its identity is no longer the one that the rules give. */
function followWhileOpen(state: Located, outgoing: User, dependencies: ChainDependencies): void {
  const { outgoingStreams } = dependencies;
  if (outgoingStreams === undefined) return;
  const { inbound, observation, progress, user } = state;
  const stream: OutgoingStream = {
    user,
    cluster: state.record.spec,
    outgoing,
    end(reason) {
      // Cut even before an answer: the request is on its way as somebody it should no longer be.
      observation.error = reason;
      endStream(progress.open ?? inbound, reason);
    },
  };
  outgoingStreams.follow(stream);
  inbound.onClose(() => outgoingStreams.forget(stream));
}
