// Keeps the signing keys of one identity provider up to date: fetches the discovery document, then the JWKS, at regular
// times and when a token has an unknown key id. All requests that wait for a new key share one fetch. Between two
// fetches for unknown keys a minimum time passes, so that tokens with made-up key ids cannot make the gateway flood the
// provider.
import { fetchIssuerDocument } from './issuer-fetch.ts';
import { fetchSigningKeys } from './signing-keys.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The addresses at which a provider publishes its keys, and the certificate authority for connecting to them. */
export interface IssuerAddress {
  readonly url: string;
  /** Address of the discovery document, if it is not at the usual path below `url`. */
  readonly discoveryUrl: string | undefined;
  /** Certificate authority in PEM; undefined trusts those of the system. */
  readonly certificateAuthority: string | undefined;
}

/** When the provider's documents are fetched. All times in milliseconds. */
export interface IssuerTiming {
  /**
   * Time between regular fetches. As long as fetches succeed, a key that the provider has withdrawn is refused after
   * this time at the latest.
   */
  readonly refreshMs: number;
  /** Time until the next attempt after a failed fetch; kube-apiserver waits 10 s. */
  readonly retryMs: number;
  /** Minimum time between two fetches for unknown keys. */
  readonly unknownKeyMs: number;
  /** Keys are not trusted any more when no fetch has succeeded for this time. */
  readonly maxAgeMs: number;
}

export const defaultIssuerTiming: IssuerTiming = {
  refreshMs: 5 * 60_000,
  retryMs: 5_000,
  unknownKeyMs: 5_000,
  maxAgeMs: 60 * 60_000,
};

/** The default times multiplied by `scale`, for tests. */
export function issuerTiming(scale: number): IssuerTiming {
  const { refreshMs, retryMs, unknownKeyMs, maxAgeMs } = defaultIssuerTiming;
  return {
    refreshMs: refreshMs * scale,
    retryMs: retryMs * scale,
    unknownKeyMs: unknownKeyMs * scale,
    maxAgeMs: maxAgeMs * scale,
  };
}

export interface IssuerKeysOptions {
  readonly timing?: IssuerTiming;
  /**
   * Called with the text of the fault when a fetch fails for a new reason, and with undefined when fetching works
   * again.
   */
  readonly onFault?: (fault: string | undefined) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly fetch?: (address: string, issuer: IssuerAddress) => Promise<unknown>;
}

/** Starts fetching; the first fetch is in progress when this returns. */
export function followIssuerKeys(issuer: IssuerAddress, options: IssuerKeysOptions = {}): IssuerKeys {
  const keys = new FollowedKeys(issuer, options);
  void keys.start();
  return keys;
}

/** The keys of a provider, kept up to date until close(). */
export type IssuerKeys = Omit<FollowedKeys, 'start'>;

class FollowedKeys {
  readonly #issuer: IssuerAddress;
  readonly #options: IssuerKeysOptions;
  readonly #timing: IssuerTiming;
  readonly #now: () => number;
  readonly #get: (address: string) => Promise<unknown>;
  #keys: SigningKeys | undefined;
  /** When the last successful fetch ended, in milliseconds of `#now()`. */
  #fetchedAtMs = 0;
  /** When the last fetch began, in milliseconds of `#now()`. */
  #begunAtMs = 0;
  #keysAddress: string | undefined;
  #fault: string | undefined;
  /** The fetch in progress; undefined when there is none. */
  #fetching: Promise<void> | undefined;
  /**
   * The fetch for an unknown key, shared by all callers of changed(); it may not have begun yet, because `unknownKeyMs`
   * must pass after the last fetch.
   */
  #asked: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(issuer: IssuerAddress, options: IssuerKeysOptions) {
    const { timing = defaultIssuerTiming, now = () => performance.now(), fetch = fetchIssuerDocument } = options;
    this.#issuer = issuer;
    this.#options = options;
    this.#timing = timing;
    this.#now = now;
    this.#get = (address) => fetch(address, issuer);
  }

  /** The current keys; undefined before the first successful fetch, and when the keys are too old to be trusted. */
  current(): SigningKeys | undefined {
    return this.#now() - this.#fetchedAtMs > this.#timing.maxAgeMs ? undefined : this.#keys;
  }

  /** Waits for a fetch in progress, then returns the current keys. Undefined when there are still none. */
  async first(): Promise<SigningKeys | undefined> {
    await this.#fetching;
    return this.current();
  }

  /**
   * Waits for a fetch that begins after this call, and returns the new keys; undefined when they are still the same as
   * `tried`, the keys with which the caller could not verify a token.
   */
  async changed(tried: SigningKeys): Promise<SigningKeys | undefined> {
    // A fetch in progress may have begun before the new key was published, so it is not enough.
    await this.#fetching;
    if (this.current() !== tried) return this.current();
    this.#asked ??= this.#startForUnknown();
    await this.#asked;
    const found = this.current();
    return found === tried ? undefined : found;
  }

  /** Why the last fetch failed; undefined when it succeeded. */
  fault(): string | undefined {
    return this.#fault;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Fetches the keys now, unless a fetch is in progress, and schedules the next regular fetch. */
  start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
      if (this.#closed) return;
      const waitMs = this.#fault === undefined ? this.#timing.refreshMs : this.#timing.retryMs;
      this.#timer = setTimeout(() => void this.start(), waitMs).unref();
    });
    return this.#fetching;
  }

  /**
   * Fetches the keys because a token has an unknown key id. Waits until `unknownKeyMs` have passed since the last fetch
   * began.
   */
  async #startForUnknown(): Promise<void> {
    const waitMs = this.#begunAtMs + this.#timing.unknownKeyMs - this.#now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    this.#asked = undefined;
    if (!this.#closed) await this.start();
  }

  async #fetchOnce(): Promise<void> {
    this.#begunAtMs = this.#now();
    try {
      this.#keysAddress ??= await discover(this.#issuer, this.#get);
      const found = await fetchSigningKeys(this.#keysAddress, this.#get);
      if (this.#closed) return;
      if (found.fingerprint !== this.#keys?.fingerprint) this.#keys = found;
      this.#fetchedAtMs = this.#now();
      this.#setFault(undefined);
    } catch (error) {
      // The provider may have moved its JWKS, so the next attempt begins with discovery.
      this.#keysAddress = undefined;
      if (!this.#closed) this.#setFault(error instanceof Error ? error.message : 'failed');
    }
  }

  #setFault(fault: string | undefined): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.onFault?.(fault);
  }
}

/** Returns the address of the JWKS (OpenID Connect Discovery 1.0 section 4). */
async function discover(issuer: IssuerAddress, get: (address: string) => Promise<unknown>): Promise<string> {
  const address = issuer.discoveryUrl ?? `${issuer.url.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await get(address);
  const { issuer: said, jwks_uri: keysAddress } = (document ?? {}) as Record<string, unknown>;
  if (said !== issuer.url) throw new Error('the discovery document is that of another issuer');
  if (typeof keysAddress !== 'string') throw new Error('the discovery document names no jwks_uri');
  return keysAddress;
}
