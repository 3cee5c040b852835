// Users by tokens of identity providers (OpenID Connect), with kube-apiserver's rules. Easy to get wrong: nothing a
// token says counts before its signature does, and what was found out about a token counts only as long as its time,
// its provider's keys and the configuration stay.
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
import type { UnverifiedToken } from './jwt-token.ts';
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
 * Recognises callers by tokens of the configured providers; others' tokens are UNAUTHENTICATED, no token is no opinion.
 */
export interface JwtAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Swaps the configuration; keys of a provider whose address stays are kept, what was found out about tokens is not.
   */
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

/** What is known of a token; it holds while the keys are the ones it was verified with. */
interface Verified {
  readonly user: User;
  readonly expiresAtMs: number;
  readonly provider: Provider;
  readonly keys: SigningKeys;
}

const maxTokens = 32_768;
/** A token and under what it is remembered. */
interface TokenAndKey {
  readonly token: string;
  readonly key: string;
}

/** A minute, as go-oidc grants for clocks that differ; none is granted for `exp`. */
const notBeforeLeewayMs = 60_000;

/** Makes one without providers. */
export function makeJwtAuthenticator(options: JwtOptions): JwtAuthenticator {
  const now = options.now ?? Date.now;
  let providers: ReadonlyMap<string, Provider> = new Map();
  let followed = new Map<string, IssuerKeys>();
  let verified = makeRecent<Verified>({ maxEntries: maxTokens });
  const secret = randomBytes(32).toString('base64');
  const digest = (token: string): string => hash('sha256', secret + token, 'base64');
  const headerToken = readOnce((rawHeaders): TokenAndKey | null => {
    const { token } = readBearerToken(rawHeaders);
    return token === undefined ? null : { token, key: digest(token) };
  });
  const holds = ({ expiresAtMs, provider, keys }: Verified): boolean =>
    now() <= expiresAtMs && provider.keys.current() === keys;

  const settle = (key: string, read: UnverifiedToken, provider: Provider, keys: SigningKeys): Verified => {
    const expiresAtMs = checkClaims(read, provider.config, now());
    const made = userOfClaims(read.claims, provider.config, { ...options, expiresAtMs });
    const before = verified.peek(key)?.user;
    // One object for as long as the identity stays, so that what is known of it is found again.
    const user = before !== undefined && isSameIdentity(before, made) ? before : made;
    const known: Verified = { user, expiresAtMs, provider, keys };
    // A file that was replaced meanwhile has another answer for the next request.
    if (providers.get(read.issuer) === provider) verified.set(key, known);
    return known;
  };
  const verify = (token: string, key: string): Verified | Promise<Verified> => {
    const read = readToken(token);
    const provider = read === undefined ? undefined : providers.get(read.issuer);
    if (read === undefined || provider === undefined) throw bad('it was not issued by an identity provider known here');
    const { header } = read;
    if (header === undefined) throw bad('its header cannot be used');
    const keys = provider.keys.current();
    if (keys !== undefined && isSigned(token, header, keys)) return settle(key, read, provider, keys);
    if (keys !== undefined && hasKey(header, keys)) {
      // The key it names did not sign it. Should its provider have used the name for another key, the next fetch tells.
      void provider.keys.changed(keys);
      throw bad('no key of its identity provider signed it');
    }
    const search = async (): Promise<Verified> => {
      const tried = keys ?? (await provider.keys.first());
      if (tried === undefined) throw bad('the keys of its identity provider cannot be had at the moment; try again');
      if (keys === undefined && isSigned(token, header, tried)) return settle(key, read, provider, tried);
      const newer = await provider.keys.changed(tried);
      if (newer === undefined || !isSigned(token, header, newer))
        throw bad('no key of its identity provider signed it');
      return settle(key, read, provider, newer);
    };
    return search();
  };
  const holderOf = ({ token, key }: TokenAndKey): User | Promise<User> => {
    const found = verified.get(key);
    if (found !== undefined && holds(found)) return found.user;
    const known = verify(token, key);
    return known instanceof Promise ? known.then(({ user }) => user) : known.user;
  };

  return {
    authenticate: ({ rawHeaders }) => {
      if (providers.size === 0) return undefined;
      // kube-apiserver's order: the header, then the subprotocol; a good one makes up for a bad one.
      const sent = headerToken(rawHeaders);
      const bySocket = (fault?: unknown): User | Promise<User> | undefined => {
        const socketToken = readWebSocketToken(rawHeaders);
        if (socketToken !== undefined) return holderOf({ token: socketToken, key: digest(socketToken) });
        if (fault !== undefined) throw fault;
        return undefined;
      };
      if (sent === null) return bySocket();
      try {
        const holder = holderOf(sent);
        return holder instanceof Promise ? holder.catch((error: unknown) => bySocket(error) as Promise<User>) : holder;
      } catch (error) {
        return bySocket(error);
      }
    },
    replace(list) {
      const kept = new Map<string, IssuerKeys>();
      const next = new Map<string, Provider>();
      for (const config of list) {
        const address = JSON.stringify(config.issuer);
        const keys = followed.get(address) ?? options.follow(config.issuer);
        kept.set(address, keys);
        next.set(config.issuer.url, { config, keys });
      }
      for (const [address, keys] of followed) if (!kept.has(address)) keys.close();
      followed = kept;
      providers = next;
      verified = makeRecent({ maxEntries: maxTokens });
    },
    faults: () =>
      [...providers].flatMap(([url, { keys }]) => {
        const fault = keys.fault();
        return fault === undefined ? [] : [`identity provider ${url}: ${fault}`];
      }),
    close() {
      for (const keys of followed.values()) keys.close();
    },
  };
}

/**
 * Whom a signed token is meant for, and when (go-oidc's verify.go).
 * @returns when it ends, milliseconds since 1970
 * @throws GatewayError UNAUTHENTICATED
 */
function checkClaims({ claims }: UnverifiedToken, { audiences }: JwtAuthenticatorConfig, nowMs: number): number {
  const audience = claims.get('aud');
  const meantFor = Array.isArray(audience) ? audience : [audience];
  if (!meantFor.every((one) => typeof one === 'string') || !meantFor.some((one) => audiences.includes(one)))
    throw bad('it is meant for another audience');
  const expires = claims.get('exp');
  if (typeof expires !== 'number') throw bad('it says not when it ends');
  // Fractions of a second are dropped, as Go does.
  const expiresAtMs = Math.trunc(expires) * 1000;
  if (expiresAtMs < nowMs) throw bad('it is expired');
  const notBefore = claims.get('nbf');
  if (notBefore !== undefined && notBefore !== null) {
    if (typeof notBefore !== 'number') throw bad('it does not say properly when it begins');
    if (nowMs + notBeforeLeewayMs < Math.trunc(notBefore) * 1000) throw bad('it is not valid yet');
  }
  return expiresAtMs;
}

function bad(reason: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', `the bearer token is not accepted: ${reason}`);
}
