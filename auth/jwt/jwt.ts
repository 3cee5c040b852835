// Users by tokens of identity providers (OpenID Connect), with kube-apiserver's rules. Nothing in a token counts before
// its signature is verified. A verified token is remembered until it expires, the keys of its provider change, or the
// configuration is replaced.
import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import type { User } from '../../cache/model/user.ts';
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
  /** Begins to follow the keys of a provider. */
  readonly follow: (issuer: IssuerAddress) => IssuerKeys;
  /** Wall clock, milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Recognises callers by tokens of the configured providers. Tokens of others are UNAUTHENTICATED; without a token the
 * answer is undefined.
 */
export interface JwtAuthenticator {
  readonly authenticate: Authenticator;
  /** Swaps the configuration. It keeps the keys of providers with the same address and forgets verified tokens. */
  replace(list: readonly JwtAuthenticatorConfig[]): void;
  /** What is wrong with providers now, one text each. */
  faults(): readonly string[];
  close(): void;
}

/** A provider and its keys. */
interface Provider {
  readonly config: JwtAuthenticatorConfig;
  readonly keys: IssuerKeys;
}

/** A verified token. It counts as long as these are the keys of its provider. */
interface Verified {
  readonly user: User;
  readonly expiresAtMs: number;
  readonly provider: Provider;
  readonly keys: SigningKeys;
}

const maxTokens = 32_768;
/** A token and the key it is remembered under. */
interface TokenAndKey {
  readonly token: string;
  readonly key: string;
}

/** A minute, as go-oidc grants for clocks that differ; none is granted for `exp`. */
const notBeforeLeewayMs = 60_000;

/** Makes one without providers. */
export function makeJwtAuthenticator(options: JwtOptions): JwtAuthenticator {
  const tokens = new JwtTokens(options);
  return {
    authenticate: ({ rawHeaders }) => tokens.authenticate(rawHeaders),
    replace: (list) => tokens.replace(list),
    faults: () => tokens.faults(),
    close: () => tokens.close(),
  };
}

/** The providers, their keys, and the tokens that were verified with them. */
class JwtTokens {
  readonly #options: JwtOptions;
  readonly #now: () => number;
  /** Tokens are remembered under a digest with this secret of the process, never as they are. */
  readonly #secret = randomBytes(32).toString('base64');
  readonly #headerToken = readOnce((rawHeaders): TokenAndKey | null => {
    const { token } = readBearerToken(rawHeaders);
    return token === undefined ? null : { token, key: this.#digest(token) };
  });
  /** By issuer. */
  #providers: ReadonlyMap<string, Provider> = new Map();
  /** By address of the issuer. */
  #followed = new Map<string, IssuerKeys>();
  #verified = makeRecent<Verified>({ maxEntries: maxTokens });

  constructor(options: JwtOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  authenticate(rawHeaders: readonly string[]): User | Promise<User> | undefined {
    if (this.#providers.size === 0) return undefined;
    // kube-apiserver's order: the header, then the subprotocol; a good one makes up for a bad one.
    const sent = this.#headerToken(rawHeaders);
    if (sent === null) return this.#bySocket(rawHeaders);
    try {
      const holder = this.#holderOf(sent);
      if (!(holder instanceof Promise)) return holder;
      return holder.catch((error: unknown) => this.#bySocket(rawHeaders, error) as Promise<User>);
    } catch (error) {
      return this.#bySocket(rawHeaders, error);
    }
  }

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

  /** By the token among the WebSocket subprotocols. @throws the fault of the header when there is none */
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
    if (header === undefined) throw bad('its header cannot be used');
    const keys = provider.keys.current();
    if (keys !== undefined && isSigned(token, header, keys)) return this.#settle(key, read, provider, keys);
    if (keys !== undefined && hasKey(header, keys)) {
      // The key it names did not sign it. If the provider now uses the name for another key, the next fetch brings it.
      void provider.keys.changed(keys);
      throw bad('no key of its identity provider signed it');
    }
    return this.#verifyWithNewKeys(token, key, { ...read, header }, provider, keys);
  }

  /** Waits for the provider's first keys, or for keys that were published after the present ones. */
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

  /** Checks the claims of a signed token and remembers its user. */
  #settle(key: string, read: UnverifiedToken, provider: Provider, keys: SigningKeys): Verified {
    const expiresAtMs = checkClaims(read, provider.config, this.#now());
    const made = userOfClaims(read.claims, provider.config, { ...this.#options, expiresAtMs });
    const before = this.#verified.peek(key)?.user;
    // The same object as long as the identity is the same, so that decisions remembered for it are found again.
    const user = before !== undefined && isSameIdentity(before, made) ? before : made;
    const known: Verified = { user, expiresAtMs, provider, keys };
    // When the file was replaced in the meantime, this answer is good for this request only.
    if (this.#providers.get(read.issuer) === provider) this.#verified.set(key, known);
    return known;
  }
}

/**
 * Checks audience and times of a signed token (go-oidc's verify.go).
 * @returns when it expires, milliseconds since 1970
 * @throws GatewayError UNAUTHENTICATED
 */
function checkClaims({ claims }: UnverifiedToken, { audiences }: JwtAuthenticatorConfig, nowMs: number): number {
  const audience = claims.get('aud');
  const meantFor = Array.isArray(audience) ? audience : [audience];
  if (!meantFor.every((one) => typeof one === 'string') || !meantFor.some((one) => audiences.includes(one)))
    throw bad('it is meant for another audience');
  const expires = claims.get('exp');
  if (typeof expires !== 'number') throw bad('it does not say when it expires (exp)');
  // Fractions of a second are dropped, as Go does.
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
