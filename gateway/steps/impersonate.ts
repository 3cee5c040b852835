// Step 9: the identity the member will see. Easy to get wrong: a member treats a missing identity as the gateway itself, so whatever cannot be
// decided is thrown here, before anything was sent, and there is no way past this step to `forward`.
import { grown } from '../exchange.ts';
import type { Impersonating, Located } from '../exchange.ts';
import type { Rooms } from '../rooms.ts';

export function impersonate(state: Located, rooms: Rooms): Impersonating {
  return grown(state, { outgoing: rooms.outgoingIdentity(state.user, state.record.spec) });
}
