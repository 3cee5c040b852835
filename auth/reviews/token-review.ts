// Authenticates users by bearer tokens that the hub checks with a TokenReview, and makes the user of its answer, with
// every extra key. Answers are remembered for
// a few seconds, as kube-apiserver's delegated authentication does
// (apiserver:plugin/pkg/authenticator/token/webhook, pkg/authentication/token/cache). Easy to get wrong: a hub may fill
// in `user` even if `authenticated` is false (CVE-2023-48312).
import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Authenticator } from '../callers/authenticate.ts';
import { readBearerToken } from '../callers/bearer-token.ts';
import { decodeHeaderText } from '../callers/header-values.ts';
import type { HubReview } from './hub-review.ts';
import { isSameIdentity } from '../callers/identity-key.ts';
import { makeReviewCache } from './review-cache.ts';
import type { Reviewed } from './review-cache.ts';
import { readWebSocketToken } from '../callers/websocket-token.ts';

/** Settings for token reviews. */
export interface TokenReviewOptions {
  readonly review: HubReview;
  /** A token must have one of these audiences; empty means the hub's own audience. */
  readonly audiences: readonly string[];
  /** Milliseconds for which positive and negative answers are cached; 0 disables the cache. */
  readonly ttlMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Authenticates callers by asking the hub about their tokens. */
export interface TokenReviewAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * The user that a token belongs to; synchronous when it is cached.
   * @param token with one latin1 character for each byte
   * @throws GatewayError UNAUTHENTICATED, IDENTITY_REFUSED, HUB_UNAVAILABLE
   */
  holderOf(token: string): User | Promise<User>;
}

interface Holder {
  /** The user that the token belongs to; undefined when the hub does not accept the token. */
  readonly user: User | undefined;
}

const maxTokens = 32_768;
/**
 * Maximum number of refused tokens in the cache. Attackers can send any number of them, so they are stored apart from
 * accepted ones.
 */
const maxRefusedTokens = 4_096;
const digestLength = 44;
/** Maximum number of token reviews in progress; further requests that need one get 503. */
const maxPending = 1_000;

/** Makes an authenticator with an empty cache. Cache keys are hashes of tokens with a secret of this process. */
export function makeTokenReviewAuthenticator(options: TokenReviewOptions): TokenReviewAuthenticator {
  const { review, audiences, ttlMs } = options;
  const holders = makeReviewCache<Holder>({
    maxEntries: maxTokens,
    maxKeyLength: maxTokens * (digestLength + 1),
    refusals: { is: ({ user }) => user === undefined, maxEntries: maxRefusedTokens },
    maxPending,
    // The hub's kube-apiserver caches tokens for 10 s itself, so the time is counted from its answer.
    countFrom: 'answer',
    ...(options.now === undefined ? {} : { now: options.now }),
  });
  const keyOf = makeTokenKeys();

  const reviewToken = async (token: string, last: Holder | undefined): Promise<Reviewed<Holder>> => {
    const text = decodeHeaderText(token);
    if (text === undefined) throw bad();
    const status = await review('TokenReview', { token: text, ...(audiences.length > 0 ? { audiences } : {}) });
    const user = holderIn(status, audiences);
    // If the identity is unchanged, the previous user object is kept, because other caches use the object as their key.
    const known = user !== undefined && last?.user !== undefined && isSameIdentity(user, last.user);
    return { answer: known ? last : { user }, ttlMs };
  };
  const holderOf = (token: string, connection?: object): User | Promise<User> => {
    const key = keyOf(token, connection);
    const known = holders.known(key);
    if (known !== undefined) return known.user ?? Promise.reject(bad());
    return holders
      .ask(key, (last) => reviewToken(token, last))
      .then(({ user }) => {
        if (user === undefined) throw bad();
        return user;
      });
  };

  return {
    holderOf: (token) => holderOf(token),
    authenticate: ({ rawHeaders, connection }) => {
      // As in kube-apiserver, the Authorization header is tried first, then the WebSocket subprotocol; one valid token
      // is enough.
      const { token } = readBearerToken(rawHeaders);
      if (token === undefined) {
        const socketToken = readWebSocketToken(rawHeaders);
        return socketToken === undefined ? undefined : holderOf(socketToken);
      }
      const holder = holderOf(token, connection);
      if (!(holder instanceof Promise)) return holder;
      return holder.catch((error: unknown) => {
        const socketToken = readWebSocketToken(rawHeaders);
        if (socketToken === undefined) throw error;
        return holderOf(socketToken);
      });
    },
  };
}

/**
 * Makes a function that returns the cache key of a token: a hash with a secret of this process. The audiences are the
 * same for all reviews, so the key does not need them.
 */
function makeTokenKeys(): (token: string, connection: object | undefined) => string {
  const secret = randomBytes(32).toString('base64');
  const digest = (token: string): string => hash('sha256', secret + token, 'base64');
  // The last token of each connection, since most connections repeat one token; this saves hashing. It must not be
  // shared between connections: the time of a comparison with another caller's token would reveal something about that
  // token.
  const lastOf = new WeakMap<object, { readonly token: string; readonly key: string }>();
  return (token, connection) => {
    if (connection === undefined) return digest(token);
    const last = lastOf.get(connection);
    if (last?.token === token) return last.key;
    const key = digest(token);
    lastOf.set(connection, { token, key });
    return key;
  };
}

/**
 * Reads the user from the status of a TokenReview; undefined when the token is not accepted.
 * @throws GatewayError UNAUTHENTICATED when the hub reports an error, HUB_UNAVAILABLE when the status cannot be read,
 *   IDENTITY_REFUSED
 */
function holderIn(status: Readonly<Record<string, unknown>>, audiences: readonly string[]): User | undefined {
  if (status['authenticated'] !== true) {
    const { error } = status;
    // An error means that the hub did not decide. Throwing keeps it out of the cache, so the next request asks again,
    // as in kube-apiserver.
    if (typeof error === 'string' && error !== '') throw bad(error);
    return undefined;
  }
  if (audiences.length > 0) {
    // kube-apiserver accepts a status without audiences as valid for its own audience. The gateway does not accept it:
    // a hub that does not support audiences has not confirmed any.
    const confirmed = status['audiences'] ?? [];
    if (!isTextList(confirmed)) throw unreadable();
    if (!confirmed.some((audience) => audiences.includes(audience))) return undefined;
  }
  const { user } = status;
  if (typeof user !== 'object' || user === null) throw unreadable();
  const { username = '', uid = '', groups, extra } = user as Record<string, unknown>;
  if (typeof username !== 'string' || typeof uid !== 'string' || !isTextList(groups ?? [])) throw unreadable();
  return makeUser({ name: username, uid, groups: (groups ?? []) as string[], extra: extraOf(extra), origin: 'hub' });
}

function extraOf(extra: unknown): Map<string, string[]> {
  const values = new Map<string, string[]>();
  if (extra === undefined || extra === null) return values;
  if (typeof extra !== 'object') throw unreadable();
  for (const [key, list] of Object.entries(extra)) {
    if (!isTextList(list)) throw unreadable();
    const lower = key.toLowerCase();
    values.set(lower, [...(values.get(lower) ?? []), ...list]);
  }
  return values;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function unreadable(): GatewayError {
  return new GatewayError('HUB_UNAVAILABLE', "the hub's answer to a TokenReview cannot be read");
}

/**
 * Makes the error for a bearer token that the hub does not accept.
 * @param said the hub's error text; used only for the log
 */
function bad(said?: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'the hub does not accept the bearer token', {
    cause: said === undefined ? undefined : new Error(said),
  });
}
