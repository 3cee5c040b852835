// Users by bearer token, asked from the hub by TokenReview and remembered for seconds, as kube-apiserver's delegated
// authentication does (apiserver:plugin/pkg/authenticator/token/webhook, pkg/authentication/token/cache). Easy to get
// wrong: a hub fills in `user` even for tokens that are not authenticated (CVE-2023-48312).
import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import type { Authenticator } from '../callers/authenticate.ts';
import { readBearerToken } from '../callers/bearer-token.ts';
import { decodeHeaderText } from '../callers/header-values.ts';
import type { HubReview } from './hub-review.ts';
import { isSameIdentity } from '../callers/identity-key.ts';
import { makeReviewCache } from './review-cache.ts';
import type { Reviewed } from './review-cache.ts';
import { readWebSocketToken } from '../callers/websocket-token.ts';

/** What token reviews depend on. */
export interface TokenReviewOptions {
  readonly review: HubReview;
  /** A token must be meant for one of these; none given means the hub's own. */
  readonly audiences: readonly string[];
  /** How long the hub's answer counts, yes and no alike; 0 asks every time. */
  readonly ttlMs: number;
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

/** Recognises callers by what the hub says about their tokens. */
export interface TokenReviewAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Whose token this is; at once when it is remembered.
   * @param token latin1 bytes of the header
   * @throws GatewayError UNAUTHENTICATED, IDENTITY_REFUSED, HUB_UNAVAILABLE
   */
  holderOf(token: string): User | Promise<User>;
}

interface Holder {
  /** Undefined: the hub says the token is nobody's. */
  readonly user: User | undefined;
}

const maxTokens = 32_768;
/** Of those the hub refused: strangers can make up as many as they like, so they have room of their own. */
const maxRefusedTokens = 4_096;
const digestLength = 44;
/** Tokens that are reviewed at the same time. */
const maxPending = 1_000;

/**
 * Makes one that remembers nothing yet. Tokens are remembered by a digest under a secret of this process, never as they
 * are.
 */
export function makeTokenReviewAuthenticator(options: TokenReviewOptions): TokenReviewAuthenticator {
  const { review, audiences, ttlMs } = options;
  const holders = makeReviewCache<Holder>({
    maxEntries: maxTokens,
    maxKeyLength: maxTokens * (digestLength + 1),
    refusals: { is: ({ user }) => user === undefined, maxEntries: maxRefusedTokens },
    maxPending,
    // kube-apiserver remembers tokens for 10 s.
    countFrom: 'answer',
    ...(options.now === undefined ? {} : { now: options.now }),
  });
  const keyOf = makeTokenKeys();

  const reviewToken = async (token: string, last: Holder | undefined): Promise<Reviewed<Holder>> => {
    const text = decodeHeaderText(token);
    if (text === undefined) throw bad();
    const status = await review('TokenReview', { token: text, ...(audiences.length > 0 ? { audiences } : {}) });
    const user = holderIn(status, audiences);
    // The same object as long as the identity is the same, so that decisions remembered for it are found again.
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
      // kube-apiserver's order: the header, then the subprotocol; a good one makes up for a bad one.
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
 * Gives tokens the keys they are remembered under: digests with a secret of this process. Audiences are the same for
 * every review, so they need not be in the key.
 */
function makeTokenKeys(): (token: string, connection: object | undefined) => string {
  const secret = randomBytes(32).toString('base64');
  const digest = (token: string): string => hash('sha256', secret + token, 'base64');
  // A connection mostly repeats its token. Each connection has its own entry: the time of a comparison with another
  // caller's token would give away something about that token.
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
 * The user of a TokenReview's status, undefined when the token is nobody's.
 * @throws GatewayError UNAUTHENTICATED when the hub met an error, HUB_UNAVAILABLE for a status that cannot be read,
 *   IDENTITY_REFUSED
 */
function holderIn(status: Readonly<Record<string, unknown>>, audiences: readonly string[]): User | undefined {
  if (status['authenticated'] !== true) {
    const { error } = status;
    // With an error the hub has not decided. It is asked again next time, as kube-apiserver does.
    if (typeof error === 'string' && error !== '') throw bad(error);
    return undefined;
  }
  if (audiences.length > 0) {
    // Stricter than kube-apiserver, which reads no audiences as its own: a hub that does not know audiences has
    // confirmed none of ours.
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

/** @param said the hub's reason, for the log alone */
function bad(said?: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'the hub does not accept the bearer token', {
    cause: said === undefined ? undefined : new Error(said),
  });
}
