// Makes certificates for tests: authorities and client certificates with any extension. Keys are ECDSA P-256 by
// default.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate with its private key, so that it can sign others. */
export interface TestCertificate {
  readonly der: Uint8Array;
  readonly pem: string;
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** What a test certificate is to look like. Dates are Unix milliseconds. */
export interface TestCertificateOptions {
  readonly subject: x509.JsonName;
  /** The issuer; undefined makes a self-signed certificate. */
  readonly issuer?: TestCertificate;
  readonly validFromMs?: number;
  readonly validToMs?: number;
  readonly extensions?: readonly x509.Extension[];
  readonly keys?: webcrypto.CryptoKeyPair;
  readonly hash?: 'SHA-1' | 'SHA-256';
}

/** The time around which test certificates are valid, in Unix milliseconds. */
export const testNowMs = Date.UTC(2026, 5, 1);
const dayMs = 24 * 60 * 60 * 1000;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256' } as const;

/**
 * Makes a key pair.
 * @param algorithm default ECDSA P-256
 */
export function makeKeys(
  algorithm: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams = ecdsa,
): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** Makes a certificate. By default it is valid from a day before {@link testNowMs} to a day after it. */
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
        // The length of the digest in bytes; only used for RSA-PSS.
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

/** The extension "extended key usage": for client authentication, or with the given object identifiers. */
export function usedFor(...usages: readonly string[]): x509.Extension {
  return new x509.ExtendedKeyUsageExtension(usages.length > 0 ? [...usages] : ['1.3.6.1.5.5.7.3.2'], false);
}

/** An extension with this object identifier and hexadecimal content. */
export function anyExtension(oid: string, hex: string, critical: boolean): x509.Extension {
  return new x509.Extension(oid, critical, Buffer.from(hex, 'hex'));
}
