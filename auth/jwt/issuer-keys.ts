// Follows the keys of one identity provider: discovery, then its JWKS, again and again. Easy to get wrong: a key that
// is new must be found at once and by one fetch however many ask, yet tokens with made-up key ids must not make us
// flood the provider.
import { fetchIssuerDocument } from './issuer-fetch.ts';
import { fetchSigningKeys } from './signing-keys.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What must be known of a provider to ask it. */
export interface IssuerAddress {
  readonly url: string;
  /** Where the discovery document is, when not below `url`. */
  readonly discoveryUrl: string | undefined;
  /** PEM; undefined uses the authorities of the system. */
  readonly certificateAuthority: string | undefined;
}

/** The keys of a provider, followed until closed. */
export interface IssuerKeys {
  /** The keys now; undefined when there were none yet, or when they are too old to be believed. */
  current(): SigningKeys | undefined;
  /** The first keys, once the fetch under way has ended; undefined when it failed or none is under way. */
  first(): Promise<SigningKeys | undefined>;
  /**
   * Other keys than the ones that were tried, from a fetch that began after the call; undefined when there are none.
   */
  changed(tried: SigningKeys): Promise<SigningKeys | undefined>;
  /** Why the last fetch failed. */
  fault(): string | undefined;
  close(): void;
}

/** How often it is asked. Milliseconds. */
export interface IssuerTiming {
  /** A key that the provider has withdrawn is refused after this at the latest. */
  readonly refreshMs: number;
  /** After a failure; kube-apiserver takes 10 s. */
  readonly retryMs: number;
  /** Between two fetches for keys that are not known. */
  readonly unknownKeyMs: number;
  /** Keys that could not be confirmed for this long are no longer believed. */
  readonly maxAgeMs: number;
}

export const defaultIssuerTiming: IssuerTiming = {
  refreshMs: 5 * 60_000,
  retryMs: 5_000,
  unknownKeyMs: 5_000,
  maxAgeMs: 60 * 60_000,
};

/** Those times, shortened for tests. */
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
  /** Told once for each change: the fault, or undefined when it is gone. */
  readonly onFault?: (fault: string | undefined) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly fetch?: (address: string, issuer: IssuerAddress) => Promise<unknown>;
}

/** Starts to follow; the first fetch is under way when this returns. */
export function followIssuerKeys(issuer: IssuerAddress, options: IssuerKeysOptions = {}): IssuerKeys {
  const { timing = defaultIssuerTiming, now = () => performance.now(), fetch = fetchIssuerDocument } = options;
  const get = (address: string): Promise<unknown> => fetch(address, issuer);
  let keys: SigningKeys | undefined;
  let fetchedAtMs = 0;
  let begunAtMs = 0;
  let keysAddress: string | undefined;
  let fault: string | undefined;
  let fetching: Promise<void> | undefined;
  let asked: Promise<void> | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const setFault = (next: string | undefined): void => {
    if (next === fault) return;
    fault = next;
    options.onFault?.(next);
  };
  const fetchOnce = async (): Promise<void> => {
    begunAtMs = now();
    try {
      keysAddress ??= await discover(issuer, get);
      const found = await fetchSigningKeys(keysAddress, get);
      if (closed) return;
      if (found.fingerprint !== keys?.fingerprint) keys = found;
      fetchedAtMs = now();
      setFault(undefined);
    } catch (error) {
      // The provider may have moved its keys.
      keysAddress = undefined;
      if (!closed) setFault(error instanceof Error ? error.message : 'failed');
    }
  };
  const start = (): Promise<void> => {
    clearTimeout(timer);
    fetching ??= fetchOnce().finally(() => {
      fetching = undefined;
      if (closed) return;
      timer = setTimeout(() => void start(), fault === undefined ? timing.refreshMs : timing.retryMs).unref();
    });
    return fetching;
  };
  const startForUnknown = async (): Promise<void> => {
    const waitMs = begunAtMs + timing.unknownKeyMs - now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    asked = undefined;
    if (!closed) await start();
  };
  const current = (): SigningKeys | undefined => (now() - fetchedAtMs > timing.maxAgeMs ? undefined : keys);

  void start();
  return {
    current,
    async first() {
      await fetching;
      return current();
    },
    async changed(tried) {
      // What is under way may have begun before the key was published.
      await fetching;
      if (current() !== tried) return current();
      asked ??= startForUnknown();
      await asked;
      const found = current();
      return found === tried ? undefined : found;
    },
    fault: () => fault,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
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
