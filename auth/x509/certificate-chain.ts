// Builds chains from a presented certificate to trusted ones, by the rules of Go's crypto/x509, which kube-apiserver
// uses. Expiry is not checked here, so that the result can be cached; the caller compares the dates with the clock each
// time.
import { GatewayError } from '../../model/errors.ts';
import { readCertificate } from './certificate.ts';
import type { Certificate } from './certificate.ts';

/** Trusted certificates, by fingerprint and by subject. */
export interface CertificatePool {
  readonly members: ReadonlyMap<string, Certificate>;
  readonly bySubject: ReadonlyMap<string, readonly Certificate[]>;
}

/**
 * A chain whose signatures and constraints are correct, and the time in which all its certificates are valid: Unix
 * milliseconds, both ends included.
 */
export interface VerifiedChain {
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** The result of {@link findChains}: all chains found; if there is none, `fault` says why. */
export interface ChainSearch {
  readonly chains: readonly VerifiedChain[];
  readonly fault: string;
}

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';
/**
 * Maximum number of signature checks for one certificate, as Go's maxChainSignatureChecks; then the search for chains
 * ends. Certificates can be made so that the number of possible chains explodes.
 */
const maxSignatureChecks = 100;
const minRsaBits = 1024;
const pemBlock = /-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;

/** Makes a pool; repeated certificates are stored once. */
export function makePool(certificates: readonly Certificate[]): CertificatePool {
  const members = new Map(certificates.map((certificate) => [certificate.fingerprint, certificate]));
  return { members, bySubject: Map.groupBy(members.values(), (certificate) => certificate.subjectKey) };
}

/**
 * Parses a bundle of PEM certificates. Text between the blocks and blocks of other types are ignored.
 * @param file name of the file for messages
 * @throws GatewayError INVALID with the file and the first block that cannot be read, or when there is no certificate
 */
export function parseCaBundle(pem: string, file: string): CertificatePool {
  const blocks = [...pem.matchAll(pemBlock)];
  const begun = pem.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (begun === 0) throw new GatewayError('INVALID', `${file}: there is no PEM certificate in the file`);
  if (blocks.length < begun) throw new GatewayError('INVALID', `${file}: a PEM block is damaged or cut off`);
  const certificates = blocks.map((block) => {
    try {
      return readCertificate(Buffer.from(block[1] ?? '', 'base64'));
    } catch (error) {
      const line = pem.slice(0, block.index).split('\n').length;
      throw new GatewayError('INVALID', `${file}:${line}: the certificate cannot be read`, { cause: error });
    }
  });
  return makePool(certificates);
}

/**
 * Finds all chains from the leaf to the pool that are valid for client authentication. The intermediates may be in any
 * order.
 */
export function findChains(
  leaf: Certificate,
  intermediates: readonly Certificate[],
  pool: CertificatePool,
): ChainSearch {
  const chains: VerifiedChain[] = [];
  let fault = 'the certificate is not signed by a certificate authority that the gateway trusts';
  let checks = 0;
  const given = Map.groupBy(intermediates, (certificate) => certificate.subjectKey);

  const finish = (chain: readonly Certificate[]) => {
    if (!chain.every(allowsClients)) {
      fault = 'the certificate may not be used for client authentication';
      return;
    }
    chains.push({
      validFromMs: Math.max(...chain.map(({ validFromMs }) => validFromMs)),
      validToMs: Math.min(...chain.map(({ validToMs }) => validToMs)),
    });
  };
  const extend = (chain: readonly Certificate[], last: Certificate) => {
    for (const [candidates, trusted] of [
      [pool.bySubject.get(last.issuerKey) ?? [], true],
      [given.get(last.issuerKey) ?? [], false],
    ] as const) {
      for (const issuer of candidates) {
        if (chain.some((one) => isSame(one, issuer))) continue;
        checks += 1;
        if (checks > maxSignatureChecks) {
          fault = 'the presented certificates allow too many chains';
          return;
        }
        const refusal = issuerFault(issuer, chain, last);
        if (refusal !== undefined) fault = refusal;
        else if (trusted) finish([...chain, issuer]);
        else extend([...chain, issuer], issuer);
      }
    }
  };

  if (leaf.unhandledCritical.length > 0) return { chains, fault: unhandled(leaf) };
  if (pool.members.has(leaf.fingerprint)) finish([leaf]);
  else extend([leaf], leaf);
  return { chains, fault };
}

/** Why `issuer` cannot have issued `last`, the end of the chain so far; undefined when it did. */
function issuerFault(issuer: Certificate, chain: readonly Certificate[], last: Certificate): string | undefined {
  if (!issuer.mayIssue) return 'a certificate of the chain is not a certificate authority';
  if (issuer.unhandledCritical.length > 0) return unhandled(issuer);
  if (issuer.hasNameConstraints)
    return 'a certificate authority of the chain has name constraints, which are not supported';
  if (issuer.pathLength !== undefined && chain.length - 1 > issuer.pathLength) {
    return 'the chain is longer than one of its certificate authorities allows';
  }
  if (!last.soundSignature) return 'a certificate of the chain is signed with an algorithm that is no longer safe';
  return isSignedBy(last, issuer) ? undefined : 'the signature of a certificate of the chain is wrong';
}

function isSignedBy(certificate: Certificate, issuer: Certificate): boolean {
  try {
    const { publicKey } = issuer.x509;
    // RSA keys this short can be broken. Go's crypto/rsa refuses them, but OpenSSL does not.
    const { modulusLength = minRsaBits } = publicKey.asymmetricKeyDetails ?? {};
    return modulusLength >= minRsaBits && certificate.x509.verify(publicKey);
  } catch {
    // verify() throws when key and signature are of different types.
    return false;
  }
}

/**
 * Whether a certificate may be used for client authentication. As in Go, every certificate of a chain is checked,
 * including the root; a certificate without extended key usages allows every use.
 */
function allowsClients({ usages }: Certificate): boolean {
  return usages === undefined || usages.includes(clientAuthentication) || usages.includes(anyUsage);
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.subjectKey === other.subjectKey && one.publicKeyInfo === other.publicKeyInfo;
}

function unhandled(certificate: Certificate): string {
  return `a certificate has critical extensions that are not supported (${certificate.unhandledCritical.join(', ')})`;
}
