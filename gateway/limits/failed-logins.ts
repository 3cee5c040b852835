// Holds back whoever tries credentials: from an address with too many failures no more are tried for a while, since
// each may cost a call to the hub or a signature. Easy to get wrong: many honest users may share that address (a NAT, a
// load balancer), so a connection that has proved itself is never held back for another's failures; but it is for its
// own, or one good token would let its holder try as many others as they like.
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { anonymousName } from '../../auth/callers/reserved.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import { addressKey } from './address-share.ts';
import { TokenBucket } from './token-bucket.ts';

/** Failures of one address, or of one connection that has logged in, at once, and a second. */
const burst = 100;
const perSecond = 10;
/** Logins of one address that wait for the hub's or a provider's word, on connections that have not logged in yet. */
const maxPending = 200;
/** Addresses that failed lately; those that have rested are forgotten beyond so many. */
const rememberedAddresses = 10_000;

/** The authenticator with the guard before it, and what it has refused. */
export interface GuardedLogins {
  readonly authenticate: RequestAuthenticator;
  /** Requests refused untried. */
  readonly refused: () => number;
  /** Somebody has logged in on this connection. */
  readonly isProven: (connection: object) => boolean;
}

/**
 * Guards an authenticator. The `connection` of a request is the one with an `address`; without one nothing is held
 * back.
 * @throws GatewayError (the returned function) TOO_MANY_REQUESTS beside what the authenticator throws
 */
export function guardLogins(
  authenticate: RequestAuthenticator,
  nowMs: () => number = () => performance.now(),
): GuardedLogins {
  const trying = new Map<string, { readonly bucket: TokenBucket; pending: number }>();
  /** Connections that have logged in, with a bucket from their first failure on. */
  const proven = new WeakMap<object, TokenBucket | undefined>();
  let refused = 0;

  const keyOf = (connection: object | undefined): string | undefined => {
    const { address } = (connection ?? {}) as { address?: string };
    return address === undefined ? undefined : addressKey(address);
  };
  const entryOf = (key: string): { readonly bucket: TokenBucket; pending: number } => {
    let entry = trying.get(key);
    if (entry === undefined) {
      if (trying.size >= rememberedAddresses) {
        for (const [one, { bucket, pending }] of trying) {
          if (pending === 0 && bucket.isFull(nowMs())) trying.delete(one);
        }
      }
      entry = { bucket: new TokenBucket(perSecond, burst, nowMs()), pending: 0 };
      trying.set(key, entry);
    }
    return entry;
  };
  const note = (connection: object | undefined, error: unknown): void => {
    if (!(error instanceof GatewayError) || error.code !== 'UNAUTHENTICATED') return;
    const key = keyOf(connection);
    // The address is charged as well: whoever has one good token must not prove connection after connection with it.
    if (key !== undefined) entryOf(key).bucket.take(nowMs());
    if (connection === undefined || !proven.has(connection)) return;
    let own = proven.get(connection);
    if (own === undefined) proven.set(connection, (own = new TokenBucket(perSecond, burst, nowMs())));
    own.take(nowMs());
  };
  const prove = (connection: object | undefined, user: User): void => {
    // To be let in without a credential proves nothing.
    if (connection === undefined || user.name === anonymousName) return;
    if (!proven.has(connection)) proven.set(connection, undefined);
  };
  const isHeldBack = (connection: object | undefined): boolean => {
    if (connection === undefined) return false;
    if (proven.has(connection)) return (proven.get(connection)?.untilNextMs(nowMs()) ?? 0) > 0;
    const entry = trying.get(keyOf(connection) ?? '');
    return entry !== undefined && (entry.pending >= maxPending || entry.bucket.untilNextMs(nowMs()) > 0);
  };

  return {
    refused: () => refused,
    isProven: (connection) => proven.has(connection),
    authenticate: (request) => {
      const { connection } = request;
      if (trying.size > 0 && isHeldBack(connection)) {
        refused += 1;
        throw new GatewayError(
          'TOO_MANY_REQUESTS',
          'too many logins from this address or on this connection have failed or are being tried; ask again later',
          {
            retryAfterSeconds: 1,
          },
        );
      }
      let user: User | Promise<User>;
      try {
        user = authenticate(request);
      } catch (error) {
        note(connection, error);
        throw error;
      }
      if (!(user instanceof Promise)) {
        prove(connection, user);
        return user;
      }
      const key = connection === undefined || proven.has(connection) ? undefined : keyOf(connection);
      if (key !== undefined) entryOf(key).pending += 1;
      const settled = (): void => {
        if (key !== undefined) entryOf(key).pending -= 1;
      };
      return user.then(
        (known) => {
          settled();
          prove(connection, known);
          return known;
        },
        (error: unknown) => {
          settled();
          note(connection, error);
          throw error;
        },
      );
    },
  };
}
