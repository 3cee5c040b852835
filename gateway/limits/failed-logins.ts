// Limits guesses of credentials: an address with too many failed logins is refused untried for a while, since each try
// may cost a call to the hub or a signature. Many honest users may share an address (a NAT, a load balancer), so a
// connection that has logged in is not refused for failures of others. It is for its own, or the holder of one good
// token could try as many others as they like.
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { anonymousName } from '../../auth/callers/reserved.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import { addressKey } from './address-share.ts';
import { TokenBucket } from './token-bucket.ts';

/** Failures allowed at once and per second, of one address or of one connection that has logged in. */
const burst = 100;
const perSecond = 10;
/** Logins of one address that wait for the hub or a provider, on connections that have not logged in yet. */
const maxPending = 200;
/** Beyond so many addresses, those without recent failures are forgotten. */
const rememberedAddresses = 10_000;

/** The authenticator behind the guard. */
export interface GuardedLogins {
  readonly authenticate: RequestAuthenticator;
  /** Requests refused untried. */
  readonly refused: () => number;
  /** Whether somebody has logged in on this connection. */
  readonly isProven: (connection: object) => boolean;
}

/**
 * Guards an authenticator. The `connection` of a request is an object with an `address`; without one nothing is
 * refused.
 * @throws GatewayError (the returned function) TOO_MANY_REQUESTS, or what the authenticator throws
 */
export function guardLogins(
  authenticate: RequestAuthenticator,
  nowMs: () => number = () => performance.now(),
): GuardedLogins {
  const failures = new LoginFailures(nowMs);
  let refused = 0;
  return {
    refused: () => refused,
    isProven: (connection) => failures.isProven(connection),
    authenticate: (request) => {
      const { connection } = request;
      if (failures.isHeldBack(connection)) {
        refused += 1;
        throw tooManyLogins();
      }
      let user: User | Promise<User>;
      try {
        user = authenticate(request);
      } catch (error) {
        failures.note(connection, error);
        throw error;
      }
      if (!(user instanceof Promise)) {
        failures.prove(connection, user);
        return user;
      }
      const settle = failures.startPending(connection);
      return user.then(
        (known) => {
          settle();
          failures.prove(connection, known);
          return known;
        },
        (error: unknown) => {
          settle();
          failures.note(connection, error);
          throw error;
        },
      );
    },
  };
}

interface AddressEntry {
  readonly bucket: TokenBucket;
  pending: number;
}

class LoginFailures {
  readonly #nowMs: () => number;
  readonly #addresses = new Map<string, AddressEntry>();
  /** Connections that have logged in, with a bucket from their first failure on. */
  readonly #proven = new WeakMap<object, TokenBucket | undefined>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  isProven(connection: object): boolean {
    return this.#proven.has(connection);
  }

  isHeldBack(connection: object | undefined): boolean {
    // The usual case: no login has failed or is pending anywhere.
    if (this.#addresses.size === 0 || connection === undefined) return false;
    if (this.#proven.has(connection)) return (this.#proven.get(connection)?.untilNextMs(this.#nowMs()) ?? 0) > 0;
    const entry = this.#addresses.get(keyOf(connection) ?? '');
    return entry !== undefined && (entry.pending >= maxPending || entry.bucket.untilNextMs(this.#nowMs()) > 0);
  }

  /** Counts a login that failed; other errors do not count. */
  note(connection: object | undefined, error: unknown): void {
    if (!(error instanceof GatewayError) || error.code !== 'UNAUTHENTICATED') return;
    const key = keyOf(connection);
    // The address is charged as well, or one good token could open connection after connection to guess on.
    if (key !== undefined) this.#entry(key).bucket.take(this.#nowMs());
    if (connection === undefined || !this.#proven.has(connection)) return;
    let own = this.#proven.get(connection);
    if (own === undefined) this.#proven.set(connection, (own = this.#newBucket()));
    own.take(this.#nowMs());
  }

  /** Remembers that the connection has logged in; an anonymous caller has not. */
  prove(connection: object | undefined, user: User): void {
    if (connection === undefined || user.name === anonymousName) return;
    if (!this.#proven.has(connection)) this.#proven.set(connection, undefined);
  }

  /** Counts a login that waits for its decision; the result ends that. */
  startPending(connection: object | undefined): () => void {
    const key = connection === undefined || this.#proven.has(connection) ? undefined : keyOf(connection);
    if (key === undefined) return () => undefined;
    this.#entry(key).pending += 1;
    return () => void (this.#entry(key).pending -= 1);
  }

  #entry(key: string): AddressEntry {
    const known = this.#addresses.get(key);
    if (known !== undefined) return known;
    if (this.#addresses.size >= rememberedAddresses) {
      for (const [one, { bucket, pending }] of this.#addresses) {
        if (pending === 0 && bucket.isFull(this.#nowMs())) this.#addresses.delete(one);
      }
    }
    const added = { bucket: this.#newBucket(), pending: 0 };
    this.#addresses.set(key, added);
    return added;
  }

  #newBucket(): TokenBucket {
    return new TokenBucket(perSecond, burst, this.#nowMs());
  }
}

function keyOf(connection: object | undefined): string | undefined {
  const { address } = (connection ?? {}) as { address?: string };
  return address === undefined ? undefined : addressKey(address);
}

function tooManyLogins(): GatewayError {
  return new GatewayError(
    'TOO_MANY_REQUESTS',
    'too many logins from this address or on this connection have failed or are being tried; ask again later',
    { retryAfterSeconds: 1 },
  );
}
