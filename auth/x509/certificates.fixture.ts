// Certificates for tests: small authorities and leaves with any extension, ECDSA P-256 unless said otherwise.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate with its key, able to sign others. */
export interface TestCertificate {
  readonly der: Uint8Array;
  readonly pem: string;
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** What a test certificate is to look like. Dates are Unix milliseconds. */
export interface TestCertificateOptions {
  readonly subject: x509.JsonName;
  /** Self-signed when left out. */
  readonly issuer?: TestCertificate;
  readonly validFromMs?: number;
  readonly validToMs?: number;
  readonly extensions?: readonly x509.Extension[];
  readonly keys?: webcrypto.CryptoKeyPair;
  readonly hash?: 'SHA-1' | 'SHA-256';
}

/** The instant that test certificates are made around. */
export const testNowMs = Date.UTC(2026, 5, 1);
const dayMs = 24 * 60 * 60 * 1000;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256' } as const;

/** Makes keys. @param algorithm ECDSA P-256 unless given */
export function makeKeys(
  algorithm: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams = ecdsa,
): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** Makes a certificate, valid from a day before testNowMs to a day after it unless said otherwise. */
export async function makeCertificate(options: TestCertificateOptions): Promise<TestCertificate> {
  const keys = options.keys ?? (await makeKeys());
  const signer = options.issuer ?? undefined;
  const signingKey = (signer?.keys ?? keys).privateKey;
  const subject = new x509.Name(options.subject);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: subject.toJSON(),
      issuer: signer === undefined ? subject.toJSON() : signer.certificate.subjectName.toJSON(),
      notBefore: new Date(options.validFromMs ?? testNowMs - dayMs),
      notAfter: new Date(options.validToMs ?? testNowMs + dayMs),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: {
        name: signingKey.algorithm.name,
        hash: options.hash ?? 'SHA-256',
        // As long as the digest; only RSA-PSS looks at it.
        saltLength: options.hash === 'SHA-1' ? 20 : 32,
      },
      extensions: [...(options.extensions ?? [])],
    },
    webcrypto as Crypto,
  );
  return { der: new Uint8Array(certificate.rawData), pem: certificate.toString('pem'), certificate, keys };
}

/** Extensions of a certificate authority. */
export function authority(pathLength?: number): x509.Extension[] {
  const signing = x509.KeyUsageFlags.keyCertSign;
  return [new x509.BasicConstraintsExtension(true, pathLength, true), new x509.KeyUsagesExtension(signing, true)];
}

/** The extended key usage of a client certificate, or others by their identifiers. */
export function usedFor(...usages: readonly string[]): x509.Extension {
  return new x509.ExtendedKeyUsageExtension(usages.length > 0 ? [...usages] : ['1.3.6.1.5.5.7.3.2'], false);
}

/** Any extension, by identifier and hex content. */
export function anyExtension(oid: string, hex: string, critical: boolean): x509.Extension {
  return new x509.Extension(oid, critical, Buffer.from(hex, 'hex'));
}
