// The gateway's own CA, which is made once and kept in the data directory, and the serving certificate that this CA
// signs at every start. The CA's key must never be half written or readable by others. If the CA were lost, no client
// would trust the gateway after a restart.
import 'reflect-metadata';
import { randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  AuthorityKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { ConfigurationError } from '../../lib/configuration-error.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 24 * 60 * 60 * 1000;

/** A certificate authority: certificate and private key as PEM. */
export interface Authority {
  readonly cert: string;
  readonly key: string;
}

/** A serving certificate and its private key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads `ca.crt` and `ca.key` of the data directory, or creates them.
 * @throws ConfigurationError (rejects) when the files cannot be read or written, or are no CA
 */
export async function loadAuthority(dataDir: string): Promise<Authority> {
  const certFile = join(dataDir, 'ca.crt');
  const keyFile = join(dataDir, 'ca.key');
  const cert = readIfThere(certFile);
  const key = readIfThere(keyFile);
  if (cert !== undefined && key !== undefined) {
    checkAuthority(cert, certFile);
    return { cert, key };
  }
  const made = await makeAuthority();
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // The key is written before the certificate. If the process ends in between, the next start finds no certificate
    // and writes both again.
    writeWhole(keyFile, made.key, 0o600);
    writeWhole(certFile, made.cert, 0o644);
  } catch (error) {
    throw new ConfigurationError([
      {
        file: dataDir,
        message: `cannot be written (${(error as NodeJS.ErrnoException).code}): choose another --data-dir`,
      },
    ]);
  }
  return made;
}

function checkAuthority(cert: string, file: string): void {
  try {
    if (new X509Certificate(cert).ca && Date.parse(new X509Certificate(cert).validTo) > Date.now()) return;
  } catch {
    // The file is not a certificate. The error thrown below tells the operator what to do.
  }
  throw new ConfigurationError([
    { file, message: 'is not a valid CA certificate: move it and ca.key away, and the gateway makes new ones' },
  ]);
}

/** Writes a file so that it has its old or its whole new content, even after a power failure. */
export function writeWhole(file: string, text: string, mode: number): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(temporary, text, { mode, flag: 'wx', flush: true });
  renameSync(temporary, file);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigurationError([{ file, message: `cannot be read (${(error as NodeJS.ErrnoException).code})` }]);
  }
}

/**
 * Makes a CA that is valid for ten years and may sign only end certificates, no further CAs.
 * @param nowMs present time in milliseconds since 1970
 */
export async function makeAuthority(nowMs = Date.now()): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serial(),
      name: 'CN=Portcullis gateway CA',
      notBefore: new Date(nowMs - 5 * 60_000),
      notAfter: new Date(nowMs + 3650 * dayMs),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    webcrypto as never,
  );
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

/**
 * Signs a serving certificate for the names by which clients may reach the gateway: localhost, the listen address, the
 * host name and the cluster domain.
 */
export async function issueServingCertificate(
  authority: Authority,
  listenHost: string,
  clusterDomain: string | undefined,
): Promise<ServingCertificate> {
  const names = new Set(['localhost', '127.0.0.1', '::1', hostname().toLowerCase()]);
  if (listenHost !== '0.0.0.0' && listenHost !== '::') names.add(listenHost);
  if (clusterDomain !== undefined) names.add(clusterDomain).add(`*.${clusterDomain}`);
  return await signServingCertificate(authority, [...names], 397 * dayMs);
}

/**
 * Signs a serving certificate with a new key.
 * @param names DNS names and IP addresses for which the certificate is valid
 * @param lifeMs how long the certificate is valid, but never longer than the CA
 * @param nowMs present time in milliseconds since 1970
 */
export async function signServingCertificate(
  authority: Authority,
  names: readonly string[],
  lifeMs: number,
  nowMs = Date.now(),
): Promise<ServingCertificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { subtle } = webcrypto;
  const signingKey = await subtle.importKey('pkcs8', pemBytes(authority.key), algorithm, false, ['sign']);
  const issuer = new X509Certificate(authority.cert);
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serial(),
      subject: 'CN=portcullis',
      issuer: 'CN=Portcullis gateway CA',
      notBefore: new Date(nowMs - 5 * 60_000),
      notAfter: new Date(Math.min(nowMs + lifeMs, Date.parse(issuer.validTo))),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
        await AuthorityKeyIdentifierExtension.create(
          await subtle.importKey('spki', issuer.publicKey.export({ type: 'spki', format: 'der' }), algorithm, true, [
            'verify',
          ]),
        ),
      ],
    },
    webcrypto as never,
  );
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

function serial(): string {
  // A leading zero bit keeps the serial number positive (RFC 5280 section 4.1.2.2).
  const bytes = randomBytes(16);
  bytes[0]! &= 0x7f;
  bytes[0]! |= 0x40;
  return bytes.toString('hex');
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const lines = der.toString('base64').match(/.{1,64}/g)!;
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function pemBytes(pem: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'));
}
