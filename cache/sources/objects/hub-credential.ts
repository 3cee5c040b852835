// Plans of how to authenticate to a member from the single fields that hub objects have. Two credentials in one object
// are refused, since a guess would decide who we are to the member.
import { basicAuthorization, bearerAuthorization } from '../../credentials/fixed.ts';
import { readAuthorities, readKeyPair } from '../../credentials/pem.ts';
import type { TlsTrust } from '../../model/records.ts';
import { trimLineEnd } from './hub-object.ts';
import { anonymousPlan, type CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { isServerName } from '../address.ts';
import { unusable } from '../unusable.ts';

/**
 * A bearer token; a line end behind it is dropped. @throws GatewayError CLUSTER_UNUSABLE when nothing is left or a
 * header cannot hold it
 */
export function tokenPlan(what: string, token: string | undefined): CredentialPlan {
  if (token === undefined) throw unusable(`${what} is missing; put the token there`);
  return { ...anonymousPlan, kind: 'token', authorization: bearerAuthorization(what, trimLineEnd(token)) };
}

/**
 * A client certificate. @throws GatewayError CLUSTER_UNUSABLE when a half is missing or the halves do not belong
 * together
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

/** A user name with a password. */
export function passwordPlan(username: string, password: string): CredentialPlan {
  return { ...anonymousPlan, kind: 'basic', authorization: basicAuthorization(username, password) };
}

/** Fields of which exactly one must be given. */
export interface SingleFields {
  /** '' when absent, as in the fields below. */
  readonly token: string;
  readonly cert: string;
  readonly key: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * The one credential of an object that has a field for each kind.
 * @param names what the fields are called, for messages
 * @throws GatewayError CLUSTER_UNUSABLE when there is none, or more than one: the member would choose which one counts
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
 * How the certificate of a member is verified: by `ca`, or by the system roots when it is '' (rule "verification is
 * never silently off").
 * @param insecure what the object says explicitly
 * @throws GatewayError CLUSTER_UNUSABLE when both are given, as client-go does, or when the CA holds no certificate
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
