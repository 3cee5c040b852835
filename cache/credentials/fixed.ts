// Credentials that are known when the record is built: tokens, passwords, certificates, or none. When their file
// changes, a new record is built, so nothing here changes.
import { GatewayError } from '../model/errors.ts';
import type { Credential, CredentialSource } from '../model/records.ts';

/** A source that always gives the same credential. */
export function fixedCredential(
  kind: Exclude<CredentialSource['kind'], 'exec'>,
  credential: Credential,
): CredentialSource {
  const frozen = Object.freeze({ ...credential });
  return Object.freeze({
    kind,
    current: () => frozen,
    // Its file is watched; asking again would give the same.
    invalidate() {},
  });
}

/**
 * `Bearer <token>`.
 * @param what names the field or file in the error
 * @throws GatewayError CLUSTER_UNUSABLE when the token is empty or cannot stand in a header
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

/** `Basic …` of RFC 7617, UTF-8. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
