// Step 6 of the chain: finds out who the caller is, or refuses the request. Only plain health checks are open to
// everybody. Also refused are requests that a web page of another origin makes a browser send with the client
// certificate of the browser's user (auth/callers/web-page.ts).
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import { makeUser } from '../../model/user.ts';
import { authenticated } from '../../request/exchange.ts';
import type { Authenticated, Described } from '../../request/exchange.ts';
import { isOpenHealth } from '../../api/health.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

export function authenticate(
  state: Described,
  dependencies: ChainDependencies,
): Authenticated | Promise<Authenticated> {
  if (isOpenHealth(state.surface, state.target.query)) return authenticated(state, anonymous);
  const caller = dependencies.authenticate(authenticationRequest(state));
  return caller instanceof Promise ? caller.then((known) => authenticated(state, known)) : authenticated(state, caller);
}

/** The data of a request from which authenticators find out who the caller is. */
export function authenticationRequest({ inbound, host, peer, surface, target }: Described): AuthenticationRequest {
  const { certificates, tlsAuthorized } = peer;
  // When a cluster has a host name of its own, paths on the cluster look like the gateway's own paths. So
  // authenticators do not get the path of such a request.
  const path = surface.kind === 'member' && surface.hasOwnOrigin ? {} : { path: target.path };
  const rawHeaders = inbound.headers;
  return { rawHeaders, peerCertificates: certificates, tlsAuthorized, connection: peer, authority: host, ...path };
}
