// Self-signed certificates for tests of credentials and sources.
import { webcrypto } from 'node:crypto';

import 'reflect-metadata'; // before x509: its dependency injection needs the polyfill while it loads
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A new self-signed certificate with subject `CN=<name>` and its key, valid for an hour. */
export async function testKeyPair(name: string): Promise<{ readonly cert: string; readonly key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: '01',
      name: `CN=${name}`,
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
      keys: keys as unknown as Parameters<typeof X509CertificateGenerator.createSelfSigned>[0]['keys'],
      signingAlgorithm: algorithm,
    },
    webcrypto as unknown as Crypto,
  );
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { cert: certificate.toString('pem'), key };
}
