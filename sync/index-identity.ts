// The option `--index-identity`: with which identity the index reads member clusters. That identity does not decide
// which users may see a row.
import type { IdentityMode } from '../model/records.ts';

/**
 * The values of `--index-identity`. `impersonate` reads as `portcullis:index`, `self` with the gateway's own
 * credential. `auto` reads as `portcullis:index` where that user may read the type, and else with the gateway's own
 * credential.
 */
export type IndexIdentity = 'auto' | 'impersonate' | 'self';

export function isIndexIdentity(text: string): text is IndexIdentity {
  return text === 'auto' || text === 'impersonate' || text === 'self';
}

/**
 * The identity with which the index reads clusters. A gateway with `--identity self` never impersonates, so its index
 * reads with the gateway's own credential, too.
 */
export function indexIdentityOf(identity: IdentityMode, chosen: IndexIdentity | undefined): IndexIdentity {
  return identity === 'self' ? 'self' : (chosen ?? 'auto');
}
