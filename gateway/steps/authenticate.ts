// Step 5: who asks. Only the bare health answers are open to everybody; anything else without a proven identity ends
// here, and so does what a web page of another origin makes a browser send with a certificate of its user
// (auth/callers/web-page.ts).
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import { makeUser } from '../../cache/model/user.ts';
import { authenticated } from '../exchange.ts';
import type { Authenticated, Described } from '../exchange.ts';
import { isOpenHealth } from '../operations/health.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

export function authenticate(
  state: Described,
  dependencies: ChainDependencies,
): Authenticated | Promise<Authenticated> {
  if (isOpenHealth(state.surface, state.target.query)) return authenticated(state, anonymous);
  const caller = dependencies.authenticate(authenticationRequest(state));
  return caller instanceof Promise ? caller.then((known) => authenticated(state, known)) : authenticated(state, caller);
}

/** What authenticators get to see. */
export function authenticationRequest({ inbound, host, peer, surface, target }: Described): AuthenticationRequest {
  const { certificates, tlsAuthorized } = peer;
  // A member with a host name of its own has paths that look like the gateway's.
  const path = surface.kind === 'member' && surface.prefix === '' ? '' : target.path;
  const rawHeaders = inbound.headers;
  return { rawHeaders, peerCertificates: certificates, tlsAuthorized, connection: peer, authority: host, path };
}
