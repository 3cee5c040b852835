// Authenticates a request: calls the authenticators in order; the first that returns a user decides. An error of one
// authenticator does not stop the next ones, but a request with a bad credential is never anonymous
// (apiserver:pkg/authentication/request/union and authenticatorfactory/delegating.go).
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { readBearerToken } from './bearer-token.ts';
import { anonymousName, authenticatedGroup, refuseOwnNames, unauthenticatedGroup } from './reserved.ts';
import { withoutAmbientCredentials } from './web-page.ts';
import type { AuthenticationRequest } from './authentication-request.ts';

/**
 * Recognises callers by one kind of credential. It returns undefined when the request has no such credential.
 * @throws GatewayError UNAUTHENTICATED for a bad credential, IDENTITY_REFUSED for a user that the gateway does not
 *   accept
 */
export type Authenticator = (request: AuthenticationRequest) => Promise<User | undefined> | User | undefined;

/**
 * All authenticators combined into one. It returns a user, or throws or rejects when no authenticator accepts the
 * request. It returns a promise only when another server must be asked.
 */
export type RequestAuthenticator = (request: AuthenticationRequest) => User | Promise<User>;

const advice = 'send a bearer token or a client certificate that this gateway knows';

/**
 * Combines authenticators into one. Their order decides when a request has several credentials; kube-apiserver takes
 * certificates before tokens. The returned function adds the group `system:authenticated` as an API server does,
 * refuses `portcullis:*` names, and accepts only bearer tokens from web pages of other origins.
 * @param anonymous called last, and only if the request has no credential
 * @param hubOrigins origins of a hub in front of the gateway, whose pages count as the gateway's own; each as
 *   `https://host:port` in lower case, without port 443
 * @throws GatewayError (from the returned function) UNAUTHENTICATED when no authenticator knows the caller, BAD_HEADERS
 *   for two Authorization headers, IDENTITY_REFUSED, FORBIDDEN for a web page of another origin without a token,
 *   INTERNAL when an authenticator failed unexpectedly and no other succeeded
 */
export function makeAuthenticator(
  list: readonly Authenticator[],
  anonymous?: Authenticator,
  hubOrigins: readonly string[] = [],
): RequestAuthenticator {
  // Authenticators return the same user object for the same credential, so the user with its added group is built once.
  const accepted = new WeakMap<User, User>();
  const acceptOnce = (user: User): User => {
    const known = accepted.get(user);
    if (known !== undefined) return known;
    const made = accept(user);
    accepted.set(user, made);
    return made;
  };
  const tryFrom = (request: AuthenticationRequest, from: number, met: Attempts): User | Promise<User> => {
    for (let i = from; i < list.length; i++) {
      let user: User | undefined | Promise<User | undefined>;
      try {
        user = list[i]!(request);
      } catch (error) {
        met.errors.push(error);
        continue;
      }
      if (user instanceof Promise) {
        const known = user.catch((error: unknown): undefined => {
          met.errors.push(error);
          return undefined;
        });
        return known.then((later) => (later === undefined ? tryFrom(request, i + 1, met) : acceptOnce(later)));
      }
      // This call is outside the try block, so that a user that is refused ends the search and the next credential is
      // not tried.
      if (user !== undefined) return acceptOnce(user);
    }
    if (anonymous !== undefined && met.errors.length === 0 && met.hint === undefined) {
      const nobody = anonymous(request);
      if (nobody instanceof Promise) return nobody.then((later) => later ?? Promise.reject(refusal(met)));
      if (nobody !== undefined) return nobody;
    }
    throw refusal(met);
  };
  return (request) => {
    const met: Attempts = { errors: [], hint: readBearerToken(request.rawHeaders).hint };
    return tryFrom(withoutAmbientCredentials(request, hubOrigins), 0, met);
  };
}

/** What has been collected while the authenticators were called: their errors, and a hint for the caller. */
interface Attempts {
  readonly errors: unknown[];
  /** Why the Authorization header has no token; undefined when it has one or is missing. */
  readonly hint: string | undefined;
}

function accept(user: User): User {
  refuseOwnNames(user);
  const { groups } = user;
  const settled =
    user.name === anonymousName || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup);
  return settled ? user : makeUser({ ...user, groups: [...groups, authenticatedGroup] });
}

/**
 * Chooses the error that the caller gets: an unexpected failure of the gateway, else a refused identity, else one error
 * that lists all bad credentials.
 */
function refusal({ errors, hint }: Attempts): GatewayError {
  const unforeseen = errors.find((error) => !(error instanceof GatewayError));
  if (unforeseen !== undefined) {
    return new GatewayError('INTERNAL', 'the gateway failed to authenticate the request', { cause: unforeseen });
  }
  const known = errors.filter((error) => error instanceof GatewayError);
  const worse = known.find((error) => error.code !== 'UNAUTHENTICATED');
  if (worse !== undefined) return worse;
  const reasons = [...new Set(known.map((error) => error.message))];
  if (hint !== undefined) reasons.push(hint);
  if (reasons.length === 0) reasons.push('no credential was sent');
  return new GatewayError('UNAUTHENTICATED', `Unauthorized: ${reasons.join('; ')}; ${advice}`, {
    cause: errors.length > 0 ? new AggregateError(errors) : undefined,
  });
}
