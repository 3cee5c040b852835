// Checks PEM text before it is used for TLS: a bundle of certificate authorities, or a client certificate with its key.
// OpenSSL would notice a key that does not match its certificate only at the first connection, with an error that names
// neither file nor cluster.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { GatewayError } from '../../model/errors.ts';

const blockStart = '-----BEGIN CERTIFICATE-----';
const blockEnd = '-----END CERTIFICATE-----';

/** A client certificate and its private key, checked. */
export interface KeyPair {
  /** Certificates in PEM, the client's own first. */
  readonly cert: string;
  /** Private key in PEM, not encrypted. */
  readonly key: string;
}

/**
 * Reads the certificates of a bundle and returns them as one PEM text. As in client-go, other text and blocks that
 * cannot be parsed are ignored if at least one certificate is left.
 * @param what name of the field or file, for the error
 * @throws GatewayError CLUSTER_UNUSABLE when no certificate is left; an empty bundle would otherwise be taken for
 *   "trust the system's roots"
 */
export function readAuthorities(what: string, pem: string): string {
  const valid = certificatesOf(pem).filter((block) => parseCertificate(block) !== undefined);
  if (valid.length === 0) throw new GatewayError('CLUSTER_UNUSABLE', `${what} holds no valid PEM certificate`);
  return `${valid.join('\n')}\n`;
}

/**
 * Checks that certificate and key can be parsed and belong together.
 * @param what name of the fields or files, for the error
 * @returns the pair, and the expiry of the first certificate in Unix milliseconds
 * @throws GatewayError CLUSTER_UNUSABLE; the message has no part of the key
 */
export function readKeyPair(what: string, cert: string, key: string): KeyPair & { readonly expiresAtMs: number } {
  const leaf = parseCertificate(certificatesOf(cert)[0] ?? '');
  if (leaf === undefined) throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the certificate is not valid PEM`);
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the key is not a PEM private key`);
  }
  let belongs: boolean;
  try {
    // Two checks: checkPrivateKey detects a key of another type, which OpenSSL would accept; createSecureContext
    // detects everything else that OpenSSL refuses.
    belongs = leaf.checkPrivateKey(createPrivateKey(key));
    if (belongs) createSecureContext({ cert, key });
  } catch (error) {
    // The error is not passed on as cause, because it may quote parts of the key.
    const code = (error as NodeJS.ErrnoException).code ?? 'bad PEM';
    throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the certificate and its key cannot be used (${code})`);
  }
  if (!belongs) throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the key belongs to another certificate`);
  return { cert, key, expiresAtMs: leaf.validToDate.getTime() };
}

/**
 * The certificate blocks of a PEM text. A regular expression would take quadratic time for a text with many BEGIN lines
 * and no END line, and such a text may come from an attacker.
 */
function certificatesOf(pem: string): readonly string[] {
  const blocks: string[] = [];
  for (let from = pem.indexOf(blockStart); from >= 0;) {
    const end = pem.indexOf(blockEnd, from);
    if (end < 0) break;
    blocks.push(pem.slice(from, end + blockEnd.length));
    from = pem.indexOf(blockStart, end);
  }
  return blocks;
}

function parseCertificate(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}
