// Finds out who is asking: runs the authenticators in order and turns the first success into the user of the request.
// An error of one authenticator does not hide the success of another, but a bad credential never ends as anonymous
// (apiserver:pkg/authentication/request/union and authenticatorfactory/delegating.go).
import { GatewayError } from '../../cache/model/errors.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import { readBearerToken } from './bearer-token.ts';
import { anonymousName, authenticatedGroup, refuseOwnNames, unauthenticatedGroup } from './reserved.ts';
import { withoutAmbientCredentials } from './web-page.ts';
import type { AuthenticationRequest } from './authentication-request.ts';

/**
 * One way to recognise a caller. Undefined is "no opinion": its kind of credential was not presented.
 * @throws GatewayError UNAUTHENTICATED when a credential was presented and is bad, IDENTITY_REFUSED when its user may
 *   not exist here
 */
export type Authenticator = (request: AuthenticationRequest) => Promise<User | undefined> | User | undefined;

/**
 * All authenticators together: gives a user, or throws (or rejects). The answer is synchronous unless a server must be
 * asked.
 */
export type RequestAuthenticator = (request: AuthenticationRequest) => User | Promise<User>;

const advice = 'send a bearer token or a client certificate that this gateway knows';

/**
 * Joins authenticators into one; order matters when a request carries several credentials (kube-apiserver:
 * certificates, then tokens). The returned function adds `system:authenticated` as an API server does, refuses
 * `portcullis:*` names, and takes nothing but bearer tokens from web pages of other origins.
 * @throws GatewayError UNAUTHENTICATED when nobody knows the caller, BAD_HEADERS for two Authorization headers,
 *   IDENTITY_REFUSED, FORBIDDEN for such a page without a token, INTERNAL when an authenticator failed in an unforeseen
 *   way and no other succeeded (all from the returned function)
 * @param anonymous asked last, and only when no credential was presented: a bad one is never anonymous
 * @param hubOrigins origins of the hub in front of us, as auth/callers/web-page.ts compares them
 */
export function makeAuthenticator(
  list: readonly Authenticator[],
  anonymous?: Authenticator,
  hubOrigins: readonly string[] = [],
): RequestAuthenticator {
  // Authenticators give out the same user object for the same credential, so its final form is made once.
  const accepted = new WeakMap<User, User>();
  const acceptOnce = (user: User): User => {
    const known = accepted.get(user);
    if (known !== undefined) return known;
    const made = accept(user);
    accepted.set(user, made);
    return made;
  };
  const tryFrom = (request: AuthenticationRequest, from: number, met: Met): User | Promise<User> => {
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
      // Outside the try: a refused identity ends the search, it does not fall through to the next credential.
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
    const met: Met = { errors: [], hint: readBearerToken(request.rawHeaders).hint };
    return tryFrom(withoutAmbientCredentials(request, hubOrigins), 0, met);
  };
}

/** What authenticators said so far. */
interface Met {
  readonly errors: unknown[];
  /** Why an Authorization header holds no token. */
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
 * One error for the caller out of all errors. Our own fault comes first, then a refused identity, then bad credentials.
 */
function refusal({ errors, hint }: Met): GatewayError {
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
