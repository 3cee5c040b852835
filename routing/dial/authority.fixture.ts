// A temporary certificate authority for tests. Its certificates use subjectAltName, because clients ignore the common
// name, and basic constraints, because OpenSSL requires them for a root.
import { webcrypto } from 'node:crypto';
import 'reflect-metadata'; // before x509: its dependency injection needs the polyfill while it loads
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { X509CertificateCreateSelfSignedParams } from '@peculiar/x509';

/** A certificate and its private key in PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Issues server and client certificates. */
export interface TestAuthority {
  readonly ca: string;
  /**
   * Issues a certificate with these subjectAltNames: DNS names, or IP addresses that begin with `ip:`. By default it is
   * valid from a day ago until a day from now.
   */
  issue(
    names: readonly string[],
    validity?: { readonly notBefore: Date; readonly notAfter: Date },
  ): Promise<TestCertificate>;
}

type Keys = X509CertificateCreateSelfSignedParams['keys'];

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;

/** Makes a certificate authority with a P-256 key. */
export async function makeTestAuthority(name = 'test authority'): Promise<TestAuthority> {
  const crypto = webcrypto as unknown as Crypto;
  const newKeys = async (): Promise<Keys> =>
    (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as unknown as Keys;
  const keys = await newKeys();
  const root = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: '01',
      name: `CN=${name}`,
      keys,
      notBefore: new Date(Date.now() - 365 * dayMs),
      notAfter: new Date(Date.now() + 365 * dayMs),
      signingAlgorithm: algorithm,
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    },
    crypto,
  );
  let serial = 1;
  return {
    ca: root.toString('pem'),
    async issue(names, validity) {
      const own = await newKeys();
      serial++;
      const leaf = await X509CertificateGenerator.create(
        {
          serialNumber: serial.toString(16).padStart(4, '0'),
          subject: `CN=leaf ${serial}`,
          issuer: root.subject,
          notBefore: validity?.notBefore ?? new Date(Date.now() - dayMs),
          notAfter: validity?.notAfter ?? new Date(Date.now() + dayMs),
          publicKey: own.publicKey,
          signingKey: keys.privateKey,
          signingAlgorithm: algorithm,
          extensions: [
            new SubjectAlternativeNameExtension(
              names.map((san) =>
                san.startsWith('ip:')
                  ? { type: 'ip' as const, value: san.slice(3) }
                  : { type: 'dns' as const, value: san },
              ),
            ),
          ],
        },
        crypto,
      );
      const pkcs8 = await crypto.subtle.exportKey('pkcs8', own.privateKey);
      return { cert: leaf.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
    },
  };
}
