// Step 10: what the gateway answers itself ends here; only requests for a member go on.
import { answered } from '../exchange.ts';
import type { Authorized, Dispatched } from '../exchange.ts';
import type { Rooms } from '../rooms.ts';

export function dispatch(state: Authorized, rooms: Rooms): Dispatched | typeof answered | Promise<typeof answered> {
  if (isForMember(state)) return state;
  const done = rooms.answerLocally(state);
  return done === undefined ? answered : done.then(() => answered);
}

function isForMember(state: Authorized): state is Dispatched {
  return state.surface.kind === 'member';
}
