// Step 5: who asks. Easy to get wrong: only the bare health answers are open to everybody; anything else without a proven identity ends here.
import { makeUser } from '../../cache/user.ts';
import { grown } from '../exchange.ts';
import type { Authenticated, Described } from '../exchange.ts';
import { isOpenHealth } from '../health.ts';
import type { Rooms } from '../rooms.ts';

const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

export function authenticate(state: Described, rooms: Rooms): Authenticated | Promise<Authenticated> {
  if (isOpenHealth(state.surface, state.target.query)) return grown(state, { caller: anonymous });
  const { peer } = state;
  return rooms
    .authenticate({
      rawHeaders: state.inbound.headers,
      peerCertificates: peer.certificates,
      tlsAuthorized: peer.tlsAuthorized,
    })
    .then((caller) => grown(state, { caller }));
}
