// Shares one SecureContext between all clusters with byte-for-byte the same authorities and client certificate. Each
// shared context saves 25 KB and half a millisecond, or a megabyte if it has the system's roots. Nothing else is
// shared: each cluster's dialer has its own name to verify, ALPN protocols and TLS sessions. A TLS session resumed for
// another cluster would skip the verification of that cluster's certificate name.
import { createHash, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { systemRoots } from '../../lib/system-roots.ts';

/** The inputs from which a SecureContext is made. Equal inputs give the same shared context. */
export interface TlsParts {
  /** Trusted certificate authorities, each a PEM bundle. If empty and `systemRoots` is false, nothing is trusted. */
  readonly authorities: readonly string[];
  /** Whether the system's root certificates are trusted as well. */
  readonly systemRoots: boolean;
  readonly clientCertificate: { readonly cert?: string | undefined; readonly key?: string | undefined } | undefined;
}

/**
 * A SecureContext that a dialer uses until the dialer calls `release`. Other dialers may use the same SecureContext.
 */
export interface HeldTlsSettings {
  readonly secureContext: SecureContext;
  /**
   * To be called when the dialer opens no more connections. Open connections are not affected. May be called
   * repeatedly.
   */
  release(): void;
}

/** A set of SecureContexts, of which each is shared by all dialers with equal {@link TlsParts}. */
export interface SharedTlsSettings {
  /**
   * Returns the context for these parts, made on first use. An error is not cached.
   * @throws UnreadableAuthority for an invalid authority; Error of Node or OpenSSL for an unusable certificate or key
   */
  hold(parts: TlsParts): HeldTlsSettings;
  /** Number of different contexts in use. */
  readonly size: number;
}

/**
 * Thrown when a certificate authority is not a PEM certificate. This is checked explicitly, because createSecureContext
 * ignores an authority that it cannot read, and the connection would later fail as untrusted.
 */
export class UnreadableAuthority extends Error {}

/** Makes an empty store of shared TLS settings. */
export function makeSharedTlsSettings(): SharedTlsSettings {
  const held = new Map<string, { readonly secureContext: SecureContext; holders: number }>();
  return {
    hold(parts) {
      const key = keyOf(parts);
      let entry = held.get(key);
      if (entry === undefined) {
        entry = { secureContext: secureContextOf(parts), holders: 0 };
        held.set(key, entry);
      }
      const mine = entry;
      mine.holders += 1;
      let isHeld = true;
      return {
        secureContext: mine.secureContext,
        release() {
          if (!isHeld) return;
          isHeld = false;
          mine.holders -= 1;
          if (mine.holders === 0) held.delete(key);
        },
      };
    },
    get size() {
      return held.size;
    },
  };
}

/** The SecureContext of one dialer. It is made, or taken from the shared set, with the dialer's first connection. */
export interface TlsHold {
  /**
   * Returns the context. Only the first call uses `parts`; later calls return the same context.
   * @throws as {@link SharedTlsSettings.hold}
   */
  contextOf(parts: TlsParts): SecureContext;
  /**
   * Gives up the shared context. If contextOf() is called for the first time after this, it makes a context that is not
   * shared.
   */
  release(): void;
}

/**
 * Makes the holder of one dialer's SecureContext.
 * @param shared the set to share contexts with; by default nothing is shared
 */
export function makeTlsHold(shared: SharedTlsSettings = makeSharedTlsSettings()): TlsHold {
  let from = shared;
  let held: HeldTlsSettings | undefined;
  return {
    contextOf(parts) {
      held ??= from.hold(parts);
      return held.secureContext;
    },
    release() {
      from = makeSharedTlsSettings();
      held?.release();
    },
  };
}

/**
 * Returns a hash of all parts as map key, so that private keys are not stored a second time. The parts are joined as
 * JSON, since different lists could give the same text if they were just concatenated.
 */
function keyOf({ authorities, systemRoots: isSystem, clientCertificate }: TlsParts): string {
  const parts = [authorities, isSystem, clientCertificate?.cert ?? null, clientCertificate?.key ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

function secureContextOf({ authorities, systemRoots: isSystem, clientCertificate }: TlsParts): SecureContext {
  for (const authority of authorities) checkAuthority(authority);
  return createSecureContext({
    ca: isSystem ? [...systemRoots(), ...authorities] : [...authorities],
    cert: clientCertificate?.cert,
    key: clientCertificate?.key,
    minVersion: 'TLSv1.2',
  });
}

function checkAuthority(pem: string): void {
  try {
    void new X509Certificate(pem);
  } catch (error) {
    throw new UnreadableAuthority('not a PEM certificate', { cause: error });
  }
}
