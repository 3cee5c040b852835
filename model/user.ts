// The user of a request, as in Kubernetes (k8s.io/apiserver/pkg/authentication/user). Only makeUser can build one, and
// it refuses an empty name, so every User object is a valid identity (rule "no identity, no bytes" of docs/rules.md).
import { GatewayError } from './errors.ts';

/**
 * Who vouches for an identity. `operator`: the operator of this gateway configured it (token file, `--client-ca-file`,
 * the only user of `--identity=self`). `hub`: a hub or an identity provider said so. Names with a meaning in
 * Kubernetes, such as `system:masters`, are accepted only from `operator` (rule "reserved identities decided once" of
 * docs/rules.md).
 */
export type UserOrigin = 'operator' | 'hub';

/** An authenticated identity. Frozen; `name` is never empty. */
export interface User {
  readonly origin: UserOrigin;
  readonly name: string;
  /** UID of the user; '' when unknown. */
  readonly uid: string;
  readonly groups: readonly string[];
  /**
   * Extra values by key; keys are in lower case. It is a list of pairs and not an object, because `__proto__` is a
   * valid key.
   */
  readonly extra: readonly (readonly [key: string, values: readonly string[]])[];
  /** When the credential expires, in Unix milliseconds; undefined when unknown. Not part of the identity. */
  readonly expiresAtMs?: number;
}

const controlCharacter = /[\u0000-\u001f\u007f\u0080-\u009f\u2028\u2029]/;
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/**
 * Why a text must not be part of an identity; undefined when it may. Identities are sent in headers: servers trim white
 * space around header values, and CR and LF would start a new header.
 */
export function identityTextFault(text: string): string | undefined {
  if (controlCharacter.test(text)) return 'contains a control character';
  if (loneSurrogate.test(text)) return 'is not valid Unicode';
  if (text !== text.trim()) return 'starts or ends with white space';
  return undefined;
}

/**
 * Builds a frozen {@link User}.
 * @throws GatewayError IDENTITY_REFUSED when the name is empty, or a part would change its meaning when sent in a
 *   header
 */
export function makeUser(parts: {
  readonly name: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Iterable<readonly [string, readonly string[]]>;
  /** Where the identity comes from; default `operator`. */
  readonly origin?: UserOrigin;
  readonly expiresAtMs?: number | undefined;
}): User {
  if (parts.name === '') throw new GatewayError('IDENTITY_REFUSED', 'the user name is empty');
  refuseFault('user name', parts.name);
  const uid = parts.uid ?? '';
  refuseFault('user uid', uid);
  const groups = (parts.groups ?? []).filter((group) => group !== '');
  for (const group of groups) refuseFault('group', group);
  const extra: [string, readonly string[]][] = [];
  for (const [key, values] of parts.extra ?? []) {
    if (key === '') throw new GatewayError('IDENTITY_REFUSED', 'an extra key is empty');
    refuseFault('extra key', key);
    for (const value of values) refuseFault('extra value', value);
    extra.push([key.toLowerCase(), Object.freeze([...values])]);
  }
  return Object.freeze({
    name: parts.name,
    uid,
    groups: Object.freeze([...new Set(groups)]),
    extra: Object.freeze(extra),
    origin: parts.origin ?? 'operator',
    ...(parts.expiresAtMs === undefined ? {} : { expiresAtMs: parts.expiresAtMs }),
  });
}

function refuseFault(what: string, text: string): void {
  const fault = identityTextFault(text);
  if (fault !== undefined) throw new GatewayError('IDENTITY_REFUSED', `the ${what} ${fault}`);
}
