// Step 11 of the chain: answers requests for the gateway's own API. Only requests for a member cluster go on to the
// next step.
import { answered } from './step.ts';
import type { Authorized, Dispatched } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function dispatch(
  state: Authorized,
  dependencies: ChainDependencies,
): Dispatched | typeof answered | Promise<typeof answered> {
  if (isForMember(state)) return state;
  const done = dependencies.answerLocally(state);
  return done === undefined ? answered : done.then(() => answered);
}

function isForMember(state: Authorized): state is Dispatched {
  return state.surface.kind === 'member';
}
