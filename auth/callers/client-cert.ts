// Authenticates users by TLS client certificates, by kube-apiserver's rules
// (apiserver:pkg/authentication/request/x509). It trusts only the certificate authority for users; front proxies have
// another one (auth/callers/request-header.ts).
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User, UserOrigin } from '../../model/user.ts';
import type { Authenticator } from './authenticate.ts';
import type { Certificate } from '../x509/certificate.ts';
import { makeCertificateJudge } from '../x509/presented-certificate.ts';
import type { CertificateJudgeOptions } from '../x509/presented-certificate.ts';

/** An authenticator whose trusted authorities can be replaced at any time. */
export interface ClientCertificateAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Replaces all trusted authorities. This applies from the next request on, also on open connections.
   * @throws GatewayError INVALID when the bundle cannot be read; the previous authorities are kept
   */
  replaceCa(pem: string): void;
}

/** Trusted certificate authorities, and the origin of the users that their certificates name. */
export interface ClientCertificateOptions extends CertificateJudgeOptions {
  /**
   * Where these identities come from; default `operator`. Identities of `operator` are sent to members unchanged; those
   * of `hub` lose reserved groups, and are refused with a reserved name.
   */
  readonly origin?: UserOrigin;
}

/**
 * Makes an authenticator that takes the CN of a certificate as user name and every O as a group. It returns undefined
 * without a certificate, and for one without CN.
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

/**
 * Makes the user of a certificate; undefined when it has no CN.
 * @throws GatewayError UNAUTHENTICATED for several UID attributes or an empty one, IDENTITY_REFUSED from makeUser
 */
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
