// Follows the keys of one identity provider: discovery, then its JWKS, again and again. A new key is found at once and
// by one fetch, however many requests need it. Fetches for unknown keys keep a distance, so that tokens with made-up
// key ids cannot make us flood the provider.
import { fetchIssuerDocument } from './issuer-fetch.ts';
import { fetchSigningKeys } from './signing-keys.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Where a provider publishes its keys. */
export interface IssuerAddress {
  readonly url: string;
  /** Of the discovery document, when it is not below `url`. */
  readonly discoveryUrl: string | undefined;
  /** PEM; undefined uses the authorities of the system. */
  readonly certificateAuthority: string | undefined;
}

/** The keys of a provider, followed until closed. */
export interface IssuerKeys {
  /** The keys now; undefined before the first fetch, and when they are too old to be trusted. */
  current(): SigningKeys | undefined;
  /** The first keys, once the fetch under way has ended; undefined when it failed or none is under way. */
  first(): Promise<SigningKeys | undefined>;
  /** Keys from a fetch that began after the call; undefined when they are still the ones that were tried. */
  changed(tried: SigningKeys): Promise<SigningKeys | undefined>;
  /** Why the last fetch failed. */
  fault(): string | undefined;
  close(): void;
}

/** How often the provider is asked. Milliseconds. */
export interface IssuerTiming {
  /** A key that the provider has withdrawn is refused after this at the latest. */
  readonly refreshMs: number;
  /** After a failure; kube-apiserver takes 10 s. */
  readonly retryMs: number;
  /** Between two fetches for keys that are not known. */
  readonly unknownKeyMs: number;
  /** Keys that could not be confirmed for this long are no longer trusted. */
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
  /** Called once for each change: with the fault, or with undefined when it is gone. */
  readonly onFault?: (fault: string | undefined) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly fetch?: (address: string, issuer: IssuerAddress) => Promise<unknown>;
}

/** Starts to follow; the first fetch is under way when this returns. */
export function followIssuerKeys(issuer: IssuerAddress, options: IssuerKeysOptions = {}): IssuerKeys {
  const keys = new FollowedKeys(issuer, options);
  void keys.start();
  return keys;
}

class FollowedKeys implements IssuerKeys {
  readonly #issuer: IssuerAddress;
  readonly #options: IssuerKeysOptions;
  readonly #timing: IssuerTiming;
  readonly #now: () => number;
  readonly #get: (address: string) => Promise<unknown>;
  #keys: SigningKeys | undefined;
  /** When the last fetch that succeeded ended. */
  #fetchedAtMs = 0;
  /** When the last fetch began. */
  #begunAtMs = 0;
  #keysAddress: string | undefined;
  #fault: string | undefined;
  /** The fetch under way. */
  #fetching: Promise<void> | undefined;
  /** The fetch that callers of `changed` share; it waits its turn or is under way. */
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

  current(): SigningKeys | undefined {
    return this.#now() - this.#fetchedAtMs > this.#timing.maxAgeMs ? undefined : this.#keys;
  }

  async first(): Promise<SigningKeys | undefined> {
    await this.#fetching;
    return this.current();
  }

  async changed(tried: SigningKeys): Promise<SigningKeys | undefined> {
    // The fetch under way may have begun before the key was published.
    await this.#fetching;
    if (this.current() !== tried) return this.current();
    this.#asked ??= this.#startForUnknown();
    await this.#asked;
    const found = this.current();
    return found === tried ? undefined : found;
  }

  fault(): string | undefined {
    return this.#fault;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Fetches now, unless a fetch is under way, and again by the clock. */
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

  /** A fetch for a key that is not known, at least `unknownKeyMs` after the last fetch began. */
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
      // The provider may have moved its keys.
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

/** Where the keys are, by OpenID Connect Discovery 1.0 section 4. */
async function discover(issuer: IssuerAddress, get: (address: string) => Promise<unknown>): Promise<string> {
  const address = issuer.discoveryUrl ?? `${issuer.url.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await get(address);
  const { issuer: said, jwks_uri: keysAddress } = (document ?? {}) as Record<string, unknown>;
  if (said !== issuer.url) throw new Error('the discovery document is that of another issuer');
  if (typeof keysAddress !== 'string') throw new Error('the discovery document names no jwks_uri');
  return keysAddress;
}
