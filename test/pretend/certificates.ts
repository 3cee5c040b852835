// Certificates for tests: an ECDSA authority and what it signs. A Kubernetes user comes from the subject (CN is the
// name, every O a group), while TLS clients check only the subject alternative names.
import { webcrypto } from 'node:crypto';

import 'reflect-metadata'; // before x509: its dependency injection needs the polyfill while it loads
import * as x509 from '@peculiar/x509';

/** A certificate and its key, both PEM (key: PKCS#8). */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** What one certificate says. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Default: for whatever it is used. */
  readonly usage?: 'server' | 'client';
  /** Default: an hour ago. */
  readonly notBefore?: Date;
  /** Default: a year from now. */
  readonly notAfter?: Date;
}

/** A certificate authority. */
export interface Authority extends KeyPair {
  readonly issue: (request: CertificateRequest) => Promise<KeyPair>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const yearMs = 365 * 24 * 3600 * 1000;
const clockSkewMs = 3600 * 1000;
const extendedKeyUsage = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' };

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function keyPem(key: webcrypto.CryptoKey, label: 'PRIVATE KEY' | 'PUBLIC KEY'): Promise<string> {
  const der = await webcrypto.subtle.exportKey(label === 'PRIVATE KEY' ? 'pkcs8' : 'spki', key);
  const lines = Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/**
 * A new self-signed authority with a key of its own.
 * @param validMs for how long, from now
 */
export async function createAuthority(commonName: string, validMs = 10 * yearMs): Promise<Authority> {
  const keys = await newKeys();
  const now = Date.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    notBefore: new Date(now - clockSkewMs),
    notAfter: new Date(now + validMs),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certPem: `${certificate.toString('pem')}\n`,
    keyPem: await keyPem(keys.privateKey, 'PRIVATE KEY'),
    issue: (request) => issue(request, certificate, keys.privateKey),
  };
}

async function issue(
  request: CertificateRequest,
  issuer: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
): Promise<KeyPair> {
  const keys = await newKeys();
  const names = [
    ...(request.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(request.ipAddresses ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...(request.organizations ?? []).map((name) => ({ O: [name] })), { CN: [request.commonName] }],
    issuer: issuer.subjectName.toJSON(),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    notBefore: request.notBefore ?? new Date(Date.now() - clockSkewMs),
    notAfter: request.notAfter ?? new Date(Date.now() + yearMs),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ...(request.usage === undefined ? [] : [new x509.ExtendedKeyUsageExtension([extendedKeyUsage[request.usage]])]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  return { certPem: `${certificate.toString('pem')}\n`, keyPem: await keyPem(keys.privateKey, 'PRIVATE KEY') };
}

/** A bare key pair for signing ServiceAccount tokens. */
export async function createSigningKey(): Promise<{ readonly privatePem: string; readonly publicPem: string }> {
  const keys = await newKeys();
  return {
    privatePem: await keyPem(keys.privateKey, 'PRIVATE KEY'),
    publicPem: await keyPem(keys.publicKey, 'PUBLIC KEY'),
  };
}

/** A certificate and its key as `node:tls` takes them, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority whose certificates `node:tls` takes as they are. */
export interface TestAuthority {
  readonly ca: string;
  /** Issues a certificate with these subject alternative names: DNS names, or IP addresses that begin with `ip:`. */
  issue(
    names: readonly string[],
    options?: Partial<Pick<CertificateRequest, 'commonName' | 'notBefore' | 'notAfter'>>,
  ): Promise<TestCertificate>;
}

/** A new authority, for servers of the test's own process and their clients. */
export async function makeTestAuthority(commonName = 'test authority'): Promise<TestAuthority> {
  const authority = await createAuthority(commonName);
  return {
    ca: authority.certPem,
    async issue(names, options) {
      const [addresses, dnsNames] = [true, false].map((is) => names.filter((name) => name.startsWith('ip:') === is));
      const ipAddresses = addresses!.map((address) => address.slice('ip:'.length));
      const pair = await authority.issue({ commonName: 'leaf', dnsNames: dnsNames!, ipAddresses, ...options });
      return { cert: pair.certPem, key: pair.keyPem };
    },
  };
}

/** A new self-signed certificate with subject `CN=<name>`, valid for an hour. */
export async function testKeyPair(name: string): Promise<TestCertificate> {
  const { certPem, keyPem } = await createAuthority(name, 3_600_000);
  return { cert: certPem, key: keyPem };
}
