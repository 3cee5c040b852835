// Who is asking: the user object of Kubernetes (k8s.io/apiserver/pkg/authentication/user). makeUser is the only way to
// build one and refuses an empty name, so that holding a User means holding an identity (rule "no identity, no bytes").
import { GatewayError } from './errors.ts';

/**
 * Who vouches for an identity: `operator` is what the operator of this gateway wrote down (token file,
 * `--client-ca-file`, the owner of `--identity=self`), `hub` whatever a hub or identity provider says. Names that
 * members reserve are trusted only from `operator` (rule "reserved identities decided once").
 */
export type UserOrigin = 'operator' | 'hub';

/** An authenticated identity. Frozen; `name` is never empty. */
export interface User {
  readonly origin: UserOrigin;
  readonly name: string;
  /** Empty when the authenticator knows none. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** Keys are lower case. A list of pairs, not an object: `__proto__` is a legal key. */
  readonly extra: readonly (readonly [key: string, values: readonly string[]])[];
  /** Unix milliseconds when the credential expires, where that is known. Not part of the identity. */
  readonly expiresAtMs?: number;
}

const controlCharacter = /[\u0000-\u001f\u007f\u0080-\u009f\u2028\u2029]/;
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/**
 * Why this text may not be part of an identity, or undefined when it may. Receivers trim white space, and CR and LF
 * split headers.
 */
export function identityTextFault(text: string): string | undefined {
  if (controlCharacter.test(text)) return 'contains a control character';
  if (loneSurrogate.test(text)) return 'is not valid Unicode';
  if (text !== text.trim()) return 'starts or ends with white space';
  return undefined;
}

/**
 * Builds a frozen {@link User}.
 * @throws GatewayError IDENTITY_REFUSED when the name is empty or any part could change its meaning on the way as a
 *   header
 */
export function makeUser(parts: {
  readonly name: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Iterable<readonly [string, readonly string[]]>;
  /** `operator` unless said otherwise. */
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
