// Parses a compact JWT without verifying it, and lists the signature algorithms that a header may name. Header and
// claims must be JSON that cannot be understood in two ways. Header fields with keys or their addresses (`jku`, `jwk`,
// `x5u`, `x5c`) are ignored, because the sender controls them.
import { decodeHeaderText } from '../callers/header-values.ts';
import { isJsonObject, readStrictJson } from '../../lib/json/strict-json.ts';
import type { JsonObject } from '../../lib/json/strict-json.ts';

/**
 * The algorithms that kube-apiserver accepts (oidc.AllValidSigningAlgorithms). Neither `none` nor symmetric algorithms
 * are among them.
 */
export const signingAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** A parsed token whose signature has not been verified. */
export interface UnverifiedToken {
  /** The `iss` claim; '' when it is missing. Google's old form without scheme is already replaced. */
  readonly issuer: string;
  readonly claims: JsonObject;
  /** The parsed header; undefined when it is not valid, and then no key can verify the token. */
  readonly header: TokenHeader | undefined;
}

export interface TokenHeader {
  readonly algorithm: SigningAlgorithm;
  readonly keyId: string | undefined;
}

/** Longest token in characters. Longer ones are refused, so that parsing is always quick. */
export const maxTokenLength = 64 * 1024;

/**
 * Parses a token; undefined when it is not a compact JWT, and may be another kind of token.
 * @param token with one latin1 character for each byte
 */
export function readToken(token: string): UnverifiedToken | undefined {
  if (token.length > maxTokenLength) return undefined;
  const parts = token.split('.', 4);
  if (parts.length !== 3) return undefined;
  const claims = readPart(parts[1]!);
  if (claims === undefined) return undefined;
  const issuer = claims.get('iss');
  return {
    issuer: typeof issuer === 'string' ? (issuer === googleWithoutScheme ? google : issuer) : '',
    claims,
    header: headerOf(readPart(parts[0]!)),
  };
}

/** Google's tokens sometimes have an issuer without scheme; go-oidc accepts this for Google only. */
const googleWithoutScheme = 'accounts.google.com';
const google = 'https://accounts.google.com';

function readPart(part: string): JsonObject | undefined {
  // Accepts what Go's RawURLEncoding does: base64url without padding.
  if (!/^[A-Za-z0-9_-]+$/.test(part) || part.length % 4 === 1) return undefined;
  const source = decodeHeaderText(Buffer.from(part, 'base64url').toString('latin1'));
  const value = source === undefined ? undefined : readStrictJson(source);
  return isJsonObject(value) ? value : undefined;
}

/**
 * Header fields that change what is signed, or how. kube-apiserver's JWT library refuses or ignores them; here they
 * make the header invalid.
 */
const changing = ['crit', 'b64', 'zip', 'enc'];

function headerOf(header: JsonObject | undefined): TokenHeader | undefined {
  if (header === undefined || changing.some((name) => header.has(name))) return undefined;
  const algorithm = signingAlgorithms.find((known) => known === header.get('alg'));
  const keyId = header.get('kid');
  if (algorithm === undefined || (keyId !== undefined && typeof keyId !== 'string')) return undefined;
  // An empty key id counts as missing, as in go-oidc.
  return { algorithm, keyId: keyId === '' ? undefined : keyId };
}
