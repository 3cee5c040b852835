// The root certificates that a TLS client trusts when the configuration names none. Reading them from the system takes
// a tenth of a second, so call this only when they are needed.
import { getCACertificates } from 'node:tls';

/**
 * The operating system's root certificates in PEM; those built into Node when the system has none, as in a minimal
 * container image.
 */
export function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
