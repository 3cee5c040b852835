// Further credentials of the gateway in a member, which a test can revoke. A kube-apiserver believes a token for up to
// 10 s after it last proved true, so a revoked one goes on working for that long.
import assert from 'node:assert/strict';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import 'reflect-metadata'; // before x509: its dependency injection needs the polyfill while it loads
import * as x509 from '@peculiar/x509';

import type { KeyPair } from '../../pretend/certificates.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { accountSubject, clusterRoleBinding, userSubject } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';

/** A ServiceAccount of the default namespace that may impersonate; resolves with its token. */
export async function createAccount(member: Member, name: string): Promise<string> {
  await member.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } });
  await allowImpersonation(member, name, accountSubject('default', name));
  return await accountToken(member, 'default', name);
}

/** Revokes the token of an account, as far as the member's cache allows. */
export async function deleteAccount(member: Member, name: string): Promise<void> {
  const answer = await member.request('DELETE', `/api/v1/namespaces/default/serviceaccounts/${name}`);
  assert.equal(answer.status, 200, answer.body);
}

/** Gives a subject the gateway's one right. */
export async function allowImpersonation(member: Member, name: string, subject: object): Promise<void> {
  await member.apply(clusterRoleBinding(`impersonate-${name}`, 'portcullis-impersonate', subject));
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A client certificate of the member's own authority for a user that may impersonate. */
export async function createClientCertificate(member: Member, commonName: string): Promise<KeyPair> {
  await allowImpersonation(member, commonName, userSubject(commonName));
  return await issueClientCertificate(member, commonName);
}

/** A client certificate of the member's own authority. */
export async function issueClientCertificate(
  member: Member,
  commonName: string,
  organizations: readonly string[] = [],
): Promise<KeyPair> {
  const { subtle } = webcrypto;
  const keys = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authorityKey = createPrivateKey(readFileSync(join(member.dir, 'ca.key')));
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...organizations.map((name) => ({ O: [name] })), { CN: [commonName] }],
    issuer: new x509.X509Certificate(member.caPem).subjectName.toJSON(),
    publicKey: keys.publicKey,
    signingKey: await subtle.importKey(
      'pkcs8',
      authorityKey.export({ type: 'pkcs8', format: 'der' }),
      algorithm,
      false,
      ['sign'],
    ),
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 3_600_000),
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2']),
    ],
  });
  const key = Buffer.from(await subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    certPem: `${certificate.toString('pem')}\n`,
    keyPem: `-----BEGIN PRIVATE KEY-----\n${key.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`,
  };
}
