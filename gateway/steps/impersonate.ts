// Step 9: the identity the member will see. Easy to get wrong: a member treats a missing identity as the gateway itself, so a user that
// is not one ends here, before any connection is touched (DESIGN rule 1).
import { outgoingUser } from '../../auth/impersonation.ts';
import type { User } from '../../cache/user.ts';
import { grown } from '../exchange.ts';
import type { Impersonating, Located } from '../exchange.ts';

/** Users are frozen and live as long as their token, so the outgoing form of one is made once. */
const outgoingUsers = new WeakMap<User, User>();

export function impersonate(state: Located): Impersonating {
  let outgoing = outgoingUsers.get(state.user);
  if (outgoing === undefined) {
    outgoing = outgoingUser(state.user);
    outgoingUsers.set(state.user, outgoing);
  }
  return grown(state, { outgoing });
}
