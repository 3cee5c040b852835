// Authenticates users by tokens of identity providers (OpenID Connect), by kube-apiserver's rules. Before its signature
// is verified, only the issuer, algorithm and key id of a token are used, to find the key. The result is cached until
// the token expires, its provider's keys change, or the configuration is replaced.
import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import type { User } from '../../model/user.ts';
import type { Authenticator } from '../callers/authenticate.ts';
import type { JwtAuthenticatorConfig } from './authentication-config-rules.ts';
import { readBearerToken } from '../callers/bearer-token.ts';
import { isSameIdentity } from '../callers/identity-key.ts';
import type { IssuerAddress, IssuerKeys } from './issuer-keys.ts';
import { readToken } from './jwt-token.ts';
import type { TokenHeader, UnverifiedToken } from './jwt-token.ts';
import { userOfClaims } from './jwt-user.ts';
import type { JwtUserOptions } from './jwt-user.ts';
import { hasKey, isSigned } from './signing-keys.ts';
import type { SigningKeys } from './signing-keys.ts';
import { readWebSocketToken } from '../callers/websocket-token.ts';

export interface JwtOptions extends JwtUserOptions {
  /** Starts fetching the keys of a provider. */
  readonly follow: (issuer: IssuerAddress) => IssuerKeys;
  /** Current time in Unix milliseconds. */
  readonly now?: () => number;
}

/** The configuration of a provider, and its keys. */
interface Provider {
  readonly config: JwtAuthenticatorConfig;
  readonly keys: IssuerKeys;
}

/**
 * A cached result for a verified token. It is valid until the token expires, and while `keys` are still the current
 * keys of its provider.
 */
interface Verified {
  readonly user: User;
  readonly expiresAtMs: number;
  readonly provider: Provider;
  readonly keys: SigningKeys;
}

const maxTokens = 32_768;
/** A token and its cache key. */
interface TokenAndKey {
  readonly token: string;
  readonly key: string;
}

/** Tolerance for differing clocks when `nbf` is checked, as in go-oidc; `exp` has none. */
const notBeforeLeewayMs = 60_000;

/** Makes an authenticator without providers; call replace() to configure some. */
export function makeJwtAuthenticator(options: JwtOptions): JwtAuthenticator {
  return new JwtTokens(options);
}

/**
 * Authenticates callers by tokens of the configured providers. It throws UNAUTHENTICATED for tokens of other issuers,
 * and returns undefined without a token.
 */
export type JwtAuthenticator = Pick<JwtTokens, keyof JwtTokens>;

class JwtTokens {
  readonly #options: JwtOptions;
  readonly #now: () => number;
  /** Secret of this process for hashing tokens; only hashes are used as cache keys. */
  readonly #secret = randomBytes(32).toString('base64');
  readonly #headerToken = readOnce((rawHeaders): TokenAndKey | null => {
    const { token } = readBearerToken(rawHeaders);
    return token === undefined ? null : { token, key: this.#digest(token) };
  });
  /** Providers by issuer URL. */
  #providers: ReadonlyMap<string, Provider> = new Map();
  /** The keys of each provider, by the `issuer` part of its configuration as JSON. */
  #followed = new Map<string, IssuerKeys>();
  #verified = makeRecent<Verified>({ maxEntries: maxTokens });

  constructor(options: JwtOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  readonly authenticate: Authenticator = ({ rawHeaders }) => {
    if (this.#providers.size === 0) return undefined;
    // As in kube-apiserver, the Authorization header is tried first, then the WebSocket subprotocol; one valid token is
    // enough.
    const sent = this.#headerToken(rawHeaders);
    if (sent === null) return this.#bySocket(rawHeaders);
    try {
      const holder = this.#holderOf(sent);
      if (!(holder instanceof Promise)) return holder;
      return holder.catch((error: unknown) => this.#bySocket(rawHeaders, error) as Promise<User>);
    } catch (error) {
      return this.#bySocket(rawHeaders, error);
    }
  };

  /** Replaces the configuration. Keys of providers whose address stays the same are kept; cached tokens are dropped. */
  replace(list: readonly JwtAuthenticatorConfig[]): void {
    const kept = new Map<string, IssuerKeys>();
    const next = new Map<string, Provider>();
    for (const config of list) {
      const address = JSON.stringify(config.issuer);
      const keys = this.#followed.get(address) ?? this.#options.follow(config.issuer);
      kept.set(address, keys);
      next.set(config.issuer.url, { config, keys });
    }
    for (const [address, keys] of this.#followed) if (!kept.has(address)) keys.close();
    this.#followed = kept;
    this.#providers = next;
    this.#verified = makeRecent({ maxEntries: maxTokens });
  }

  /** The current faults of providers, one text for each. */
  faults(): readonly string[] {
    return [...this.#providers].flatMap(([url, { keys }]) => {
      const fault = keys.fault();
      return fault === undefined ? [] : [`identity provider ${url}: ${fault}`];
    });
  }

  close(): void {
    for (const keys of this.#followed.values()) keys.close();
  }

  #digest(token: string): string {
    return hash('sha256', this.#secret + token, 'base64');
  }

  /**
   * Authenticates by the token in the WebSocket subprotocols.
   * @param fault error that the token in the Authorization header caused; it is thrown when the subprotocols have no
   *   token
   */
  #bySocket(rawHeaders: readonly string[], fault?: unknown): User | Promise<User> | undefined {
    const token = readWebSocketToken(rawHeaders);
    if (token !== undefined) return this.#holderOf({ token, key: this.#digest(token) });
    if (fault !== undefined) throw fault;
    return undefined;
  }

  #holderOf({ token, key }: TokenAndKey): User | Promise<User> {
    const found = this.#verified.get(key);
    if (found !== undefined && this.#holds(found)) return found.user;
    const known = this.#verify(token, key);
    return known instanceof Promise ? known.then(({ user }) => user) : known.user;
  }

  #holds({ expiresAtMs, provider, keys }: Verified): boolean {
    return this.#now() <= expiresAtMs && provider.keys.current() === keys;
  }

  #verify(token: string, key: string): Verified | Promise<Verified> {
    const read = readToken(token);
    const provider = read === undefined ? undefined : this.#providers.get(read.issuer);
    if (read === undefined || provider === undefined) throw bad('it was not issued by an identity provider known here');
    const { header } = read;
    if (header === undefined) throw bad('its header is not valid, or its algorithm is not supported');
    const keys = provider.keys.current();
    if (keys !== undefined && isSigned(token, header, keys)) return this.#settle(key, read, provider, keys);
    if (keys !== undefined && hasKey(header, keys)) {
      // A known key has the token's key id but did not sign it. The provider may have reused the id for another key, so
      // the keys are fetched again for later requests.
      void provider.keys.changed(keys);
      throw bad('no key of its identity provider signed it');
    }
    return this.#verifyWithNewKeys(token, key, { ...read, header }, provider, keys);
  }

  /** Waits for the provider's first keys, or for newer ones than `keys`, and verifies with them. */
  async #verifyWithNewKeys(
    token: string,
    key: string,
    read: UnverifiedToken & { readonly header: TokenHeader },
    provider: Provider,
    keys: SigningKeys | undefined,
  ): Promise<Verified> {
    const tried = keys ?? (await provider.keys.first());
    if (tried === undefined) throw bad('the keys of its identity provider cannot be fetched at the moment; try again');
    if (keys === undefined && isSigned(token, read.header, tried)) return this.#settle(key, read, provider, tried);
    const newer = await provider.keys.changed(tried);
    if (newer === undefined || !isSigned(token, read.header, newer)) {
      throw bad('no key of its identity provider signed it');
    }
    return this.#settle(key, read, provider, newer);
  }

  /** Checks the claims of a token with a verified signature, and caches its user. */
  #settle(key: string, read: UnverifiedToken, provider: Provider, keys: SigningKeys): Verified {
    const expiresAtMs = checkClaims(read, provider.config, this.#now());
    const made = userOfClaims(read.claims, provider.config, { ...this.#options, expiresAtMs });
    const before = this.#verified.peek(key)?.user;
    // If the identity is unchanged, the previous user object is kept, because other caches use the object as their key.
    const user = before !== undefined && isSameIdentity(before, made) ? before : made;
    const known: Verified = { user, expiresAtMs, provider, keys };
    // The configuration may have been replaced while this token was being verified; the result is then used once and
    // not cached.
    if (this.#providers.get(read.issuer) === provider) this.#verified.set(key, known);
    return known;
  }
}

/**
 * Checks audience and times of a verified token, as in go-oidc's verify.go.
 * @returns when it expires, in Unix milliseconds
 * @throws GatewayError UNAUTHENTICATED
 */
function checkClaims({ claims }: UnverifiedToken, { audiences }: JwtAuthenticatorConfig, nowMs: number): number {
  const audience = claims.get('aud');
  const meantFor = Array.isArray(audience) ? audience : [audience];
  if (!meantFor.every((one) => typeof one === 'string') || !meantFor.some((one) => audiences.includes(one)))
    throw bad('it is meant for another audience');
  const expires = claims.get('exp');
  if (typeof expires !== 'number') throw bad('it does not say when it expires (exp)');
  // Fractions of a second are dropped, as in Go.
  const expiresAtMs = Math.trunc(expires) * 1000;
  if (expiresAtMs < nowMs) throw bad('it is expired');
  const notBefore = claims.get('nbf');
  if (notBefore !== undefined && notBefore !== null) {
    if (typeof notBefore !== 'number') throw bad('its nbf is not a number');
    if (nowMs + notBeforeLeewayMs < Math.trunc(notBefore) * 1000) throw bad('it is not valid yet');
  }
  return expiresAtMs;
}

function bad(reason: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', `the bearer token is not accepted: ${reason}`);
}
