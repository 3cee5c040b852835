// The public keys of an identity provider, and verification of token signatures with them. A token must not choose how
// it is verified, so a key is only used with algorithms that its type, curve and `alg` allow. Weak keys are ignored.
import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { JwksClient } from 'jwks-rsa';
import type { TokenHeader } from './jwt-token.ts';

/** A public key of the provider, with which signatures of its tokens are verified. */
export interface SigningKey {
  readonly keyId: string | undefined;
  /** The `alg` that the provider published with the key; undefined when there is none, and the key's type decides. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

/** All keys of a provider at one moment. Compared by reference: the object is replaced only when a key has changed. */
export interface SigningKeys {
  readonly keys: readonly SigningKey[];
  /** A text that is the same for the same set of keys. */
  readonly fingerprint: string;
}

const minRsaBits = 2048;
const maxKeys = 100;
const curves: Readonly<Record<string, string>> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' };

/**
 * Fetches a JWKS and selects the keys that can verify signatures.
 * @param fetch fetches the JSON document at an address
 * @throws Error when it cannot be fetched or has no usable key
 */
export async function fetchSigningKeys(
  address: string,
  fetch: (address: string) => Promise<unknown>,
): Promise<SigningKeys> {
  const client = new JwksClient({
    jwksUri: address,
    fetcher: async (uri) => ({ keys: keysIn(await fetch(uri)) }),
    // auth/jwt/issuer-keys.ts caches all keys. The library's cache is by key id, so it could not serve tokens without
    // one.
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

/** Whether one of the keys signed the token. A token with a key id is only checked against keys with that id. */
export function isSigned(token: string, { algorithm, keyId }: TokenHeader, { keys }: SigningKeys): boolean {
  return keys.some((candidate) => {
    if (keyId !== undefined && candidate.keyId !== keyId) return false;
    if (candidate.algorithm !== undefined && candidate.algorithm !== algorithm) return false;
    if (!fits(algorithm, candidate.key)) return false;
    try {
      // The library's checks of `exp` and `nbf` are off: jwt.ts checks them by kube-apiserver's rules.
      const options = { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true };
      jsonwebtoken.verify(token, candidate.key, options);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether there is a key with the token's key id; if so, the request need not wait for newer keys. */
export function hasKey({ keyId }: TokenHeader, { keys }: SigningKeys): boolean {
  return keyId !== undefined && keys.some((candidate) => candidate.keyId === keyId);
}

function fits(algorithm: string, key: KeyObject): boolean {
  if (algorithm.startsWith('ES')) {
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === curves[algorithm];
  }
  return key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'rsa-pss' && algorithm.startsWith('PS'));
}
