// Chains from a presented certificate to a pool of trusted ones, by the rules of Go's crypto/x509, which kube-apiserver
// uses. Validity in time is left out, so that the result may be kept; the caller checks the clock each time.
import { GatewayError } from '../../cache/model/errors.ts';
import { readCertificate } from './certificate.ts';
import type { Certificate } from './certificate.ts';

/** Trusted certificates, found by their fingerprint and by their subject. */
export interface CertificatePool {
  readonly members: ReadonlyMap<string, Certificate>;
  readonly bySubject: ReadonlyMap<string, readonly Certificate[]>;
}

/**
 * One chain from leaf to pool whose signatures and constraints are in order, and when all of it is valid. Unix
 * milliseconds, both inclusive.
 */
export interface VerifiedChain {
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** Every chain, and the best explanation for when there is none. */
export interface ChainSearch {
  readonly chains: readonly VerifiedChain[];
  readonly fault: string;
}

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';
/** Go's maxChainSignatureChecks: certificates can be arranged so that chains multiply. */
const maxSignatureChecks = 100;
const minRsaBits = 1024;
const pemBlock = /-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;

/** Makes a pool; repeats count once. */
export function makePool(certificates: readonly Certificate[]): CertificatePool {
  const members = new Map(certificates.map((certificate) => [certificate.fingerprint, certificate]));
  return { members, bySubject: Map.groupBy(members.values(), (certificate) => certificate.subjectKey) };
}

/**
 * Reads a bundle of PEM certificates; text around the blocks is ignored, as is any other kind of block.
 * @param file its name for messages
 * @throws GatewayError INVALID naming the file and the first block that cannot be read, or a file without certificates
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
 * Searches all chains from the leaf to the pool for client authentication. The order of intermediates does not matter.
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
    // Go's crypto/rsa refuses keys that anybody can break; OpenSSL would not.
    const { modulusLength = minRsaBits } = publicKey.asymmetricKeyDetails ?? {};
    return modulusLength >= minRsaBits && certificate.x509.verify(publicKey);
  } catch {
    // Key and signature are of different kinds.
    return false;
  }
}

/** Go walks the whole chain, root included: a certificate without extended key usages allows every use. */
function allowsClients({ usages }: Certificate): boolean {
  return usages === undefined || usages.includes(clientAuthentication) || usages.includes(anyUsage);
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.subjectKey === other.subjectKey && one.publicKeyInfo === other.publicKeyInfo;
}

function unhandled(certificate: Certificate): string {
  return `a certificate has critical extensions that are not supported (${certificate.unhandledCritical.join(', ')})`;
}
