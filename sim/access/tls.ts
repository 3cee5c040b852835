// Makes the certificates of one simulated API server: its CA, a serving certificate for the listen address, and client
// certificates on request. Clients verify the IP address in subjectAltName and ignore the common name.
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  cryptoProvider,
  type X509Certificate,
} from '@peculiar/x509';
import { isIP } from 'node:net';
import { randomBytes, webcrypto } from 'node:crypto';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
/** Extended key usages (RFC 5280 section 4.2.1.12): TLS server and TLS client. */
const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';
const dayMs = 86_400_000;

/** A certificate and its private key, both as PEM text. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A certificate authority that issues certificates. */
export interface CertificateAuthority {
  readonly caPem: string;
  /** Makes a serving certificate for host names and IP addresses. */
  issueServer(hosts: readonly string[]): Promise<KeyPair>;
  /** Makes a client certificate. `name` becomes the user name, and each element of `groups` a group. */
  issueClient(name: string, groups?: readonly string[]): Promise<KeyPair>;
}

/** Makes a certificate authority that is valid for ten years. */
export async function createAuthority(commonName: string): Promise<CertificateAuthority> {
  const crypto = webcrypto as unknown as Crypto;
  cryptoProvider.set(crypto);
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + 3650 * dayMs) };
  const ca: X509Certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [commonName] }],
    ...validity,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey, false, crypto),
    ],
  });

  async function issue(
    subject: { CN: string[]; O?: string[] },
    usage: string,
    hosts: readonly string[],
  ): Promise<KeyPair> {
    const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const name = [{ CN: subject.CN }, ...(subject.O ?? []).map((group) => ({ O: [group] }))];
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: name,
      issuer: ca.subject,
      ...validity,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        await AuthorityKeyIdentifierExtension.create(ca, false, crypto),
        ...(hosts.length === 0
          ? []
          : [new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })))]),
      ],
    });
    const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', own.privateKey));
    const base64 = (der.toString('base64').match(/.{1,64}/g) ?? []).join('\n');
    return {
      certPem: `${certificate.toString('pem')}\n`,
      keyPem: `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`,
    };
  }

  return {
    caPem: `${ca.toString('pem')}\n`,
    issueServer: (hosts) => issue({ CN: ['kube-apiserver'] }, serverAuth, hosts),
    issueClient: (name, groups = []) => issue({ CN: [name], O: [...groups] }, clientAuth, []),
  };
}

function serial(): string {
  const bytes = randomBytes(12);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString('hex');
}
