// Checks PEM text before it reaches a TLS socket: a certificate authority bundle, a client certificate with its key.
// OpenSSL would notice a key of another certificate only at the first connection, with an error that names neither file
// nor cluster.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { GatewayError } from '../model/errors.ts';

const blockStart = '-----BEGIN CERTIFICATE-----';
const blockEnd = '-----END CERTIFICATE-----';

/** A client certificate ready for TLS. */
export interface KeyPair {
  /** PEM, leaf first. */
  readonly cert: string;
  /** PEM, not encrypted. */
  readonly key: string;
}

/**
 * The certificates of a bundle as one PEM text; as in client-go, text around them and blocks that do not parse are left
 * out as long as one certificate remains.
 * @param what names the field or file in the error
 * @throws GatewayError CLUSTER_UNUSABLE when none is left: an empty bundle must never come to mean the system roots
 */
export function readAuthorities(what: string, pem: string): string {
  const valid = certificatesOf(pem).filter((block) => parseCertificate(block) !== undefined);
  if (valid.length === 0) throw new GatewayError('CLUSTER_UNUSABLE', `${what} holds no valid PEM certificate`);
  return `${valid.join('\n')}\n`;
}

/**
 * Checks that both parse and belong together.
 * @param what names the fields or files in the error
 * @returns the pair, and the `notAfter` of the leaf in Unix milliseconds
 * @throws GatewayError CLUSTER_UNUSABLE; no part of the key is in the message
 */
export function readKeyPair(what: string, cert: string, key: string): KeyPair & { readonly expiresAtMs: number } {
  const leaf = parseCertificate(certificatesOf(cert)[0] ?? '');
  if (leaf === undefined) throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the certificate is not valid PEM`);
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the key is not a PEM private key`);
  }
  let belongs: boolean;
  try {
    // checkPrivateKey finds keys of another type, which OpenSSL would accept. createSecureContext finds everything that
    // OpenSSL refuses.
    belongs = leaf.checkPrivateKey(createPrivateKey(key));
    if (belongs) createSecureContext({ cert, key });
  } catch (error) {
    // The cause is dropped on purpose: it may show parts of what was parsed.
    const code = (error as NodeJS.ErrnoException).code ?? 'bad PEM';
    throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the pair cannot be used (${code})`);
  }
  if (!belongs) throw new GatewayError('CLUSTER_UNUSABLE', `${what}: the key belongs to another certificate`);
  return { cert, key, expiresAtMs: leaf.validToDate.getTime() };
}

/**
 * Not by a regular expression: on a text of many beginnings and no end its time grows with the square of the length,
 * and others write these texts.
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
