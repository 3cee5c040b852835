// Credentials that are known when the cluster record is built: tokens, passwords, certificates, or none. Such a
// credential never changes. When the file or object that it came from changes, a new record of the cluster is built.
import { GatewayError } from './errors.ts';
import type { Credential, CredentialSource } from './records.ts';

/** Makes a source that always returns this credential. */
export function fixedCredential(
  kind: Exclude<CredentialSource['kind'], 'exec'>,
  credential: Credential,
): CredentialSource {
  const frozen = Object.freeze({ ...credential });
  return Object.freeze({
    kind,
    current: () => frozen,
    // Nothing to do after a 401: a changed token file or object leads to a new record of the cluster.
    invalidate() {},
  });
}

/**
 * Makes the header value `Bearer <token>`.
 * @param what name of the field or file, for the error
 * @throws GatewayError CLUSTER_UNUSABLE when the token is empty or has characters that a header cannot carry
 */
export function bearerAuthorization(what: string, token: string): string {
  if (token === '') throw new GatewayError('CLUSTER_UNUSABLE', `${what} is empty`);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new GatewayError(
      'CLUSTER_UNUSABLE',
      `${what} holds white space or a character that cannot be sent in a header`,
    );
  }
  return `Bearer ${token}`;
}

/** Makes the header value `Basic …` (RFC 7617) with UTF-8 encoding. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
