// `--index-identity`: as whom the index reads members. Who may see a row is never decided by it.
import type { IdentityMode } from '../../cache/model/records.ts';

/** `auto`: as `portcullis:index` where it may read what is chosen, else as the gateway's own credential. */
export type IndexIdentity = 'auto' | 'impersonate' | 'self';

export function isIndexIdentity(text: string): text is IndexIdentity {
  return text === 'auto' || text === 'impersonate' || text === 'self';
}

/** A gateway that never impersonates reads as itself, too. */
export function indexIdentityOf(identity: IdentityMode, chosen: IndexIdentity | undefined): IndexIdentity {
  return identity === 'self' ? 'self' : (chosen ?? 'auto');
}
