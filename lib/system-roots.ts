// The root certificates that a TLS client trusts when the configuration names none. Reading them from the system takes
// a tenth of a second, so systemRoots() should be called only when they are needed.
import { getCACertificates } from 'node:tls';

/**
 * The operating system's root certificates in PEM; those built into Node when the system has none, as in a minimal
 * container image. Those of the environment variable NODE_EXTRA_CA_CERTS are added.
 */
export function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
