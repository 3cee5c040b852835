// Step 5: who asks. Easy to get wrong: only the bare health answers are open to everybody; anything else without a proven identity ends here.
import type { AuthenticationRequest } from '../../auth/authenticate.ts';
import { makeUser } from '../../cache/user.ts';
import type { Inbound } from '../../routing/exchange.ts';
import { grown } from '../exchange.ts';
import type { Authenticated, Described, Peer } from '../exchange.ts';
import { isOpenHealth } from '../health.ts';
import type { Rooms } from '../rooms.ts';

const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

export function authenticate(state: Described, rooms: Rooms): Authenticated | Promise<Authenticated> {
  if (isOpenHealth(state.surface, state.target.query)) return grown(state, { caller: anonymous });
  const caller = rooms.authenticate(authenticationRequest(state.inbound, state.peer));
  return caller instanceof Promise ? caller.then((known) => grown(state, { caller: known })) : grown(state, { caller });
}

/** What authenticators look at. */
export function authenticationRequest({ headers }: Inbound, peer: Peer): AuthenticationRequest {
  const { certificates, tlsAuthorized } = peer;
  return { rawHeaders: headers, peerCertificates: certificates, tlsAuthorized, connection: peer };
}
