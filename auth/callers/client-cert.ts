// Users from TLS client certificates, by kube-apiserver's rules (apiserver:pkg/authentication/request/x509). Only the
// authority for users counts here; the authority of front proxies is another pool (auth/callers/request-header.ts).
import { GatewayError } from '../../cache/model/errors.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User, UserOrigin } from '../../cache/model/user.ts';
import type { Authenticator } from './authenticate.ts';
import type { Certificate } from '../x509/certificate.ts';
import { makeCertificateJudge } from '../x509/presented-certificate.ts';
import type { CertificateJudgeOptions } from '../x509/presented-certificate.ts';

/** An authenticator whose trusted authorities can be swapped while requests run. */
export interface ClientCertificateAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Replaces the whole pool. It counts from the next request, on old connections, too.
   * @throws GatewayError INVALID when the bundle cannot be read; the old pool stays
   */
  replaceCa(pem: string): void;
}

/** What the authenticator depends on. */
export interface ClientCertificateOptions extends CertificateJudgeOptions {
  /** Who vouches for its users; `operator` unless said otherwise. */
  readonly origin?: UserOrigin;
}

/**
 * Recognises callers by certificate: CN is the name, every O a group. No certificate, or one without CN, is no opinion.
 * @throws GatewayError INVALID when the bundle cannot be read
 */
export function makeClientCertificateAuthenticator(options: ClientCertificateOptions): ClientCertificateAuthenticator {
  const judge = makeCertificateJudge(options);
  const { origin = 'operator' } = options;
  const users = new WeakMap<Certificate, User>();
  return {
    authenticate: ({ peerCertificates }) => {
      if (peerCertificates.length === 0) return undefined;
      const leaf = judge.judge(peerCertificates);
      let user = users.get(leaf);
      if (user === undefined) {
        user = userOf(leaf, origin);
        if (user !== undefined) users.set(leaf, user);
      }
      return user;
    },
    replaceCa: (pem) => judge.replaceCa(pem),
  };
}

/** @throws GatewayError UNAUTHENTICATED for more than one or an empty UID attribute, IDENTITY_REFUSED from makeUser */
function userOf(leaf: Certificate, origin: UserOrigin): User | undefined {
  if (leaf.commonName === '') return undefined;
  const [uid, ...more] = leaf.uids;
  if (more.length > 0) throw new GatewayError('UNAUTHENTICATED', 'the client certificate has more than one UID');
  if (uid === '') throw new GatewayError('UNAUTHENTICATED', 'the UID of the client certificate is empty');
  return makeUser({
    name: leaf.commonName,
    uid: uid ?? '',
    groups: leaf.organizations,
    extra: [['authentication.kubernetes.io/credential-id', [`X509SHA256=${leaf.fingerprint}`]]],
    origin,
    expiresAtMs: leaf.validToMs,
  });
}
