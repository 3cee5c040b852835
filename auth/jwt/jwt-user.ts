// Makes the user of a verified token, as kube-apiserver does (apiserver:plugin/pkg/authenticator/token/oidc). If a
// claim has a type that the mapping does not expect, the token is refused; the claim does not count as missing.
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { JwtAuthenticatorConfig, Mapping } from './authentication-config-rules.ts';
import type { ClaimExpression } from './claim-expression.ts';
import { isJsonObject } from '../../lib/json/strict-json.ts';
import type { JsonObject, JsonValue } from '../../lib/json/strict-json.ts';
import { isWithheld } from '../outgoing/trust.ts';
import type { ReservedOptions } from '../outgoing/trust.ts';

/** The extra key under which Kubernetes records a credential's id (user.CredentialIDKey). */
const credentialIdKey = 'authentication.kubernetes.io/credential-id';

/**
 * Options for all providers: which reserved groups a provider may give. Other reserved groups are removed from the
 * user, so that they have no effect here or at a hub.
 */
export type JwtUserOptions = ReservedOptions;

/**
 * Makes the user that the claims describe.
 * @throws GatewayError UNAUTHENTICATED when a claim is missing, has a wrong type or fails a rule; IDENTITY_REFUSED when
 * the gateway does not accept the user
 */
export function userOfClaims(
  claims: JsonObject,
  config: JwtAuthenticatorConfig,
  options: JwtUserOptions & { readonly expiresAtMs?: number },
): User {
  const name = usernameOf(claims, config.username);
  const groups = groupsOf(claims, config.groups);
  const uid = config.uid === undefined ? '' : textOf(claims, config.uid, 'uid');
  const extra = extraOf(claims, config);
  for (const { claim, value } of config.requiredClaims) {
    if (claims.get(claim) !== value) throw bad(`claim ${JSON.stringify(claim)} does not have the required value`);
  }
  for (const { expression, message } of config.claimRules) demand(expression, claims, message, 'claims');
  const user = makeUser({
    name,
    uid,
    groups: groups.filter((group) => !isWithheld(group, options)),
    extra,
    origin: 'hub',
    expiresAtMs: options.expiresAtMs,
  });
  if (config.userRules.length > 0) {
    // The user validation rules are evaluated on what the provider sent, including reserved groups that were removed
    // from the user.
    const seen = new Map<string, JsonValue>([
      ['username', name],
      ['uid', uid],
      ['groups', groups],
      ['extra', extra],
    ]);
    for (const { expression, message } of config.userRules) demand(expression, seen, message, 'user');
  }
  return user;
}

function usernameOf(claims: JsonObject, mapping: Mapping): string {
  const value = textOf(claims, mapping, 'username');
  if (mapping.claim === undefined) {
    if (value === '') throw bad('the user name is empty');
    return value;
  }
  // kube-apiserver accepts an empty user name claim. Here it is refused, with or without a prefix.
  if (value === '') throw bad(`claim ${JSON.stringify(mapping.claim)} is empty`);
  if (mapping.claim === 'email' && claims.has('email_verified') && claims.get('email_verified') !== true)
    throw bad('the email address is not verified');
  return mapping.prefix + value;
}

/** The value of a claim or expression that must be a string. */
function textOf(claims: JsonObject, mapping: Mapping, what: string): string {
  if (mapping.claim === undefined) {
    const value = evaluated(mapping.expression, claims);
    if (typeof value !== 'string') throw bad(`the expression for ${what} does not give a string`);
    return value;
  }
  const value = claims.get(mapping.claim);
  if (typeof value !== 'string') throw bad(`claim ${JSON.stringify(mapping.claim)} for ${what} is no string`);
  return value;
}

function groupsOf(claims: JsonObject, mapping: Mapping | undefined): readonly string[] {
  if (mapping === undefined) return [];
  if (mapping.claim === undefined) return listOf(evaluated(mapping.expression, claims), 'groups');
  const { claim, prefix } = mapping;
  const value = claims.get(claim);
  if (value === undefined) {
    // OpenID Connect Core section 5.6.2 allows a claim to be on another server. Such claims are not fetched, because
    // the address would come from the token.
    const names = claims.get('_claim_names');
    if (isJsonObject(names) && names.has(claim))
      throw bad(`claim ${JSON.stringify(claim)} is distributed, which is not supported`);
    return [];
  }
  if (value === null) return [];
  const groups = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === 'string'))
    throw bad(`claim ${JSON.stringify(claim)} for groups is neither a string nor a list of strings`);
  return prefix === '' ? groups : groups.map((group) => prefix + group);
}

function extraOf(claims: JsonObject, config: JwtAuthenticatorConfig): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  const id = claims.get('jti');
  if (typeof id === 'string' && id !== '') extra.set(credentialIdKey, [`JTI=${id}`]);
  for (const { key, expression } of config.extra) {
    const values = listOf(evaluated(expression, claims), `extra ${key}`);
    if (values.length > 0) extra.set(key, values);
  }
  return extra;
}

/**
 * Converts a string or a list of strings to a list. null, "" and [] give an empty list; "" within a list is dropped.
 */
function listOf(value: unknown, what: string): readonly string[] {
  if (value === null || value === '') return [];
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list) || !list.every((item): item is string => typeof item === 'string'))
    throw bad(`the expression for ${what} gives neither a string nor a list of strings`);
  return list.filter((item) => item !== '');
}

function evaluated(expression: ClaimExpression, claims: JsonObject): unknown {
  try {
    return expression.evaluate(claims);
  } catch (error) {
    throw bad('an expression cannot be evaluated for the claims of the token', error);
  }
}

function demand(expression: ClaimExpression, subject: JsonObject, message: string, what: string): void {
  if (evaluated(expression, subject) === true) return;
  throw bad(message === '' ? `a validation rule for the ${what} failed` : `a validation rule failed: ${message}`);
}

function bad(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('UNAUTHENTICATED', `the token of the identity provider is not accepted: ${reason}`, {
    cause,
  });
}
