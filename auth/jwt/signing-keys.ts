// The public keys of an identity provider, and whether one of them signed a token. The token must not choose how it is
// verified, so a key is tried only with algorithms that its own type, curve and `alg` allow. Weak keys are left out.
import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { JwksClient } from 'jwks-rsa';
import type { TokenHeader } from './jwt-token.ts';

/** One key that may verify a signature. */
export interface SigningKey {
  readonly keyId: string | undefined;
  /** The `alg` its publisher gave it; undefined leaves it to the type of the key. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

/** The keys of one moment. Compared by reference: equal keys keep their set. */
export interface SigningKeys {
  readonly keys: readonly SigningKey[];
  /** Equal for equal keys. */
  readonly fingerprint: string;
}

const minRsaBits = 2048;
const maxKeys = 100;
const curves: Readonly<Record<string, string>> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' };

/**
 * Fetches a JWKS and keeps the keys that can verify signatures.
 * @param fetch gets the document behind an address
 * @throws Error when it cannot be fetched or holds no key that can be used
 */
export async function fetchSigningKeys(
  address: string,
  fetch: (address: string) => Promise<unknown>,
): Promise<SigningKeys> {
  const client = new JwksClient({
    jwksUri: address,
    fetcher: async (uri) => ({ keys: keysIn(await fetch(uri)) }),
    // auth/jwt/issuer-keys.ts keeps the present set; a cache by key id could not serve tokens without one.
    cache: false,
  });
  const keys: SigningKey[] = [];
  for (const { kid, alg, getPublicKey } of await client.getSigningKeys()) {
    const key = createPublicKey(getPublicKey());
    if (isStrong(key)) keys.push({ keyId: kid, algorithm: alg, key });
  }
  if (keys.length === 0) throw new Error('the provider publishes no key that can be used');
  const fingerprint = keys
    .map(({ keyId, algorithm, key }) =>
      JSON.stringify([keyId, algorithm, key.export({ format: 'der', type: 'spki' }).toString('base64')]),
    )
    .toSorted()
    .join('\n');
  return { keys, fingerprint };
}

function keysIn(document: unknown): unknown[] {
  const keys = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : undefined;
  if (!Array.isArray(keys)) throw new Error('the provider did not answer with a JSON Web Key Set');
  return keys.filter((key) => typeof key === 'object' && key !== null).slice(0, maxKeys);
}

function isStrong(key: KeyObject): boolean {
  if (key.asymmetricKeyType === 'ec') return Object.values(curves).includes(key.asymmetricKeyDetails?.namedCurve ?? '');
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'rsa-pss') return false;
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) >= minRsaBits;
}

/** True when one of the keys signed the token; keys whose id is another are not tried. */
export function isSigned(token: string, { algorithm, keyId }: TokenHeader, { keys }: SigningKeys): boolean {
  return keys.some((candidate) => {
    if (keyId !== undefined && candidate.keyId !== keyId) return false;
    if (candidate.algorithm !== undefined && candidate.algorithm !== algorithm) return false;
    if (!fits(algorithm, candidate.key)) return false;
    try {
      // Our caller checks times, by kube-apiserver's rules.
      const options = { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true };
      jsonwebtoken.verify(token, candidate.key, options);
      return true;
    } catch {
      return false;
    }
  });
}

/** True when there is a key with the token's key id, so that newer keys need not be fetched. */
export function hasKey({ keyId }: TokenHeader, { keys }: SigningKeys): boolean {
  return keyId !== undefined && keys.some((candidate) => candidate.keyId === keyId);
}

function fits(algorithm: string, key: KeyObject): boolean {
  if (algorithm.startsWith('ES')) {
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === curves[algorithm];
  }
  return key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'rsa-pss' && algorithm.startsWith('PS'));
}
