// The user for requests without any credential, if the operator allows them
// (apiserver:pkg/authentication/request/anonymous). A request with a bad credential is never anonymous:
// `makeAuthenticator` calls this authenticator last, and a request with an Authorization header, even a malformed one,
// gets no user here.
import { makeUser } from '../../model/user.ts';
import type { AuthenticationRequest } from './authentication-request.ts';
import type { Authenticator } from './authenticate.ts';
import { headerValues } from '../../http/raw-headers.ts';
import { anonymousName, unauthenticatedGroup } from './reserved.ts';
import { readWebSocketToken } from './websocket-token.ts';

/** Whether requests without a credential are accepted. */
export interface AnonymousConfig {
  readonly enabled: boolean;
  /** Exact paths on which requests without a credential are accepted; empty means all paths. */
  readonly paths: readonly string[];
}

const anonymous = makeUser({ name: anonymousName, groups: [unauthenticatedGroup] });

/**
 * Makes an authenticator that returns `system:anonymous` for requests without a credential. It must be called last, and
 * only if no other authenticator failed.
 * @param config read for each request, so that it can change
 */
export function makeAnonymousAuthenticator(config: () => AnonymousConfig): Authenticator {
  return (request) => {
    const { enabled, paths } = config();
    const isOpen = paths.length === 0 || (request.path !== undefined && paths.includes(request.path));
    return enabled && isOpen && !hasCredential(request) ? anonymous : undefined;
  };
}

/**
 * Whether the request has a credential, even a malformed one. Stricter than kube-apiserver, which ignores a malformed
 * Authorization header.
 */
function hasCredential({ rawHeaders }: AuthenticationRequest): boolean {
  return headerValues(rawHeaders, 'authorization').length > 0 || readWebSocketToken(rawHeaders) !== undefined;
}
