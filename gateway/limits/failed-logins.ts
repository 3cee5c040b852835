// Limits the guessing of credentials. An address with too many failed logins is refused for a while without checking
// its credentials, since each check may cost a call to the hub or a signature. Many honest users may share an address
// (NAT, load balancer), so a connection that has logged in once is not refused for failures on other connections.
// Failures on the connection itself count; otherwise the holder of one valid token could try any number of others.
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { anonymousName } from '../../auth/callers/reserved.ts';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { addressKey } from './address-share.ts';
import { TokenBucket } from './token-bucket.ts';

/**
 * How many logins may fail at once (`burst`), and how many per second after that. With more, further logins are
 * refused. Failures are counted for each address, and for each connection that has logged in.
 */
const burst = 100;
const perSecond = 10;
/**
 * How many logins of one address may wait at once for an answer of the hub or an identity provider; more are refused.
 * Connections that have logged in before are not counted.
 */
const maxPending = 200;
/** When more addresses than this are remembered, those without recent failures are forgotten. */
const rememberedAddresses = 10_000;

/** An authenticator with limits on failed logins. */
export interface GuardedLogins {
  readonly authenticate: RequestAuthenticator;
  /** Number of requests that were refused without checking their credential. */
  readonly refused: () => number;
  /** Whether somebody has logged in successfully on this connection. */
  readonly isProven: (connection: object) => boolean;
}

/**
 * Limits failed logins of an authenticator. The `connection` of a request is an object with the client's `address`; a
 * request without a `connection` is never refused.
 * @throws GatewayError (from the returned `authenticate`) TOO_MANY_REQUESTS, or what the authenticator throws
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
  /**
   * Connections that have logged in. The value limits the failed logins on the connection; it is undefined before the
   * first failure.
   */
  readonly #proven = new WeakMap<object, TokenBucket | undefined>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  isProven(connection: object): boolean {
    return this.#proven.has(connection);
  }

  isHeldBack(connection: object | undefined): boolean {
    // The usual case, checked first because it is fast: no login has failed and no login is waiting for an answer.
    if (this.#addresses.size === 0 || connection === undefined) return false;
    if (this.#proven.has(connection)) return (this.#proven.get(connection)?.untilNextMs(this.#nowMs()) ?? 0) > 0;
    const entry = this.#addresses.get(keyOf(connection) ?? '');
    return entry !== undefined && (entry.pending >= maxPending || entry.bucket.untilNextMs(this.#nowMs()) > 0);
  }

  /** Counts a failed login. Errors other than UNAUTHENTICATED do not count. */
  note(connection: object | undefined, error: unknown): void {
    if (!(error instanceof GatewayError) || error.code !== 'UNAUTHENTICATED') return;
    const key = keyOf(connection);
    // The failure also counts for the address. Otherwise the holder of one valid token could open connection after
    // connection and guess credentials on each.
    if (key !== undefined) this.#entry(key).bucket.take(this.#nowMs());
    if (connection === undefined || !this.#proven.has(connection)) return;
    let own = this.#proven.get(connection);
    if (own === undefined) this.#proven.set(connection, (own = this.#newBucket()));
    own.take(this.#nowMs());
  }

  /** Remembers that the connection has logged in. Being let in as an anonymous user does not count as a login. */
  prove(connection: object | undefined, user: User): void {
    if (connection === undefined || user.name === anonymousName) return;
    if (!this.#proven.has(connection)) this.#proven.set(connection, undefined);
  }

  /**
   * Counts a login that waits for the hub or an identity provider. Call the returned function when the answer has come.
   */
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
    'too many logins from this address or on this connection have failed or are being tried; try again later',
    { retryAfterSeconds: 1 },
  );
}
