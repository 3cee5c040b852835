// Callers without any credential, where the operator lets them in (apiserver:pkg/authentication/request/anonymous). A
// caller who sent a bad credential is not anonymous: `makeAuthenticator` asks this one last, and requests with an
// Authorization header, even a malformed one, get no opinion here.
import { makeUser } from '../../cache/model/user.ts';
import type { AuthenticationRequest } from './authentication-request.ts';
import type { Authenticator } from './authenticate.ts';
import type { AnonymousConfig } from '../jwt/authentication-config.ts';
import { headerValues } from './header-values.ts';
import { anonymousName, unauthenticatedGroup } from './reserved.ts';
import { readWebSocketToken } from './websocket-token.ts';

const anonymous = makeUser({ name: anonymousName, groups: [unauthenticatedGroup] });

/**
 * Gives `system:anonymous` to requests that carry no credential. Ask it last, and only when no other authenticator
 * failed.
 * @param config read anew for each request
 */
export function makeAnonymousAuthenticator(config: () => AnonymousConfig): Authenticator {
  return (request) => {
    const { enabled, paths } = config();
    if (!enabled || (paths.length > 0 && !paths.includes(request.path ?? ''))) return undefined;
    return hasCredential(request) ? undefined : anonymous;
  };
}

/** Stricter than kube-apiserver, which treats a malformed Authorization header as no header. */
function hasCredential({ rawHeaders }: AuthenticationRequest): boolean {
  return headerValues(rawHeaders, 'authorization').length > 0 || readWebSocketToken(rawHeaders) !== undefined;
}
