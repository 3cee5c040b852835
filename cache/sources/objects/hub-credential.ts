// Makes credential plans from single fields of hub objects, such as a token. An object with two credentials is refused,
// because the gateway would have to guess with which of them it should authenticate to the member cluster.
import { basicAuthorization, bearerAuthorization } from '../../../model/fixed-credential.ts';
import { readAuthorities, readKeyPair } from '../../credentials/pem.ts';
import type { TlsTrust } from '../../../model/records.ts';
import { trimLineEnd } from './hub-object.ts';
import { anonymousPlan, type CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { isServerName } from '../address.ts';
import { unusable } from '../unusable.ts';

/**
 * Makes a plan to authenticate with a bearer token. A line end after the token is removed.
 * @throws GatewayError CLUSTER_UNUSABLE when the token is missing, empty, or contains characters that an HTTP header
 * cannot contain
 */
export function tokenPlan(what: string, token: string | undefined): CredentialPlan {
  if (token === undefined) throw unusable(`${what} is missing; put the token there`);
  return { ...anonymousPlan, kind: 'token', authorization: bearerAuthorization(what, trimLineEnd(token)) };
}

/**
 * Makes a plan to authenticate with a client certificate, given as PEM texts.
 * @throws GatewayError CLUSTER_UNUSABLE when certificate or key is missing, or the key does not belong to the
 * certificate
 */
export function certificatePlan(
  what: { readonly cert: string; readonly key: string },
  cert: string | undefined,
  key: string | undefined,
): CredentialPlan {
  if (cert === undefined || cert === '') throw unusable(`${what.cert} is missing; put the client certificate there`);
  if (key === undefined || key === '')
    throw unusable(`${what.key} is missing; put the key of the client certificate there`);
  const pair = readKeyPair(`${what.cert} and ${what.key}`, cert, key);
  return {
    ...anonymousPlan,
    kind: 'client-certificate',
    clientCertificate: { cert: pair.cert, key: pair.key },
    expiresAtMs: pair.expiresAtMs,
  };
}

/** Makes a plan to authenticate with user name and password (HTTP basic). */
export function passwordPlan(username: string, password: string): CredentialPlan {
  return { ...anonymousPlan, kind: 'basic', authorization: basicAuthorization(username, password) };
}

/** The credential fields of a hub object; exactly one kind of credential must be set. */
export interface SingleFields {
  /** The bearer token. In this and in all other fields, '' means absent. */
  readonly token: string;
  readonly cert: string;
  readonly key: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Makes a plan to authenticate with the only credential of an object.
 * @param names the names of the fields, for messages
 * @throws GatewayError CLUSTER_UNUSABLE when the object has no credential, or more than one
 */
export function onlyPlan(
  names: Readonly<Record<'token' | 'cert' | 'key', string>>,
  fields: SingleFields,
): CredentialPlan {
  const { token, cert, key, username = '', password = '' } = fields;
  const found = [
    ...(token === '' ? [] : [names.token]),
    ...(cert === '' && key === '' ? [] : [names.cert]),
    ...(username === '' && password === '' ? [] : ['username']),
  ];
  if (found.length > 1) throw unusable(`has more than one credential (${found.join(', ')}); keep one of them`);
  if (token !== '') return tokenPlan(names.token, token);
  if (cert !== '' || key !== '') return certificatePlan(names, cert, key);
  if (found.length === 1) return passwordPlan(username, password);
  throw unusable(`has no credential; give it ${names.token}, or ${names.cert} and ${names.key}`);
}

/**
 * How the API server's certificate is verified: by the PEM text `ca`, or by the system roots when `ca` is '' (rule
 * "verification is never silently off" of docs/rules.md).
 * @param insecure whether the object switches verification off
 * @throws GatewayError CLUSTER_UNUSABLE when `ca` is given although verification is off (client-go refuses that, too),
 * or when `ca` contains no certificate
 */
export function trustIn(field: string, ca: string, insecure: boolean, serverName = ''): TlsTrust {
  if (insecure && ca !== '') throw unusable(`${field} is given and verification is switched off; keep one of them`);
  if (serverName !== '' && !isServerName(serverName)) throw unusable('the server name to verify is not a host name');
  return {
    ca: ca === '' ? undefined : readAuthorities(field, ca),
    serverName: serverName === '' ? undefined : serverName,
    insecure,
  };
}
