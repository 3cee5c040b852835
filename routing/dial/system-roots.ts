// The certificate authorities a TLS client trusts when none are named. Reading those of the system takes a tenth of a
// second, so ask only where they are needed.
import { getCACertificates } from 'node:tls';

/** The roots of the operating system, or those that come with Node where it has none (a minimal container image). */
export function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
