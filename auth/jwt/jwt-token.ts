// Takes a compact JWT apart; nothing in it is verified yet. Header and claims must be readable in one way only. What a
// header says about keys (`jku`, `jwk`, `x5u`, `x5c`) comes from the sender, so it is not read.
import { decodeHeaderText } from '../callers/header-values.ts';
import { isJsonObject, readStrictJson } from '../../lib/json/strict-json.ts';
import type { JsonObject } from '../../lib/json/strict-json.ts';

/** The algorithms kube-apiserver accepts (oidc.AllValidSigningAlgorithms): no `none`, nothing symmetric. */
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

/** A token whose signature nobody has looked at yet. */
export interface UnverifiedToken {
  /** The `iss` claim, Google's old form already replaced; '' when there is none. */
  readonly issuer: string;
  readonly claims: JsonObject;
  /** Undefined: the header cannot be used, so no key will verify it. */
  readonly header: TokenHeader | undefined;
}

export interface TokenHeader {
  readonly algorithm: SigningAlgorithm;
  readonly keyId: string | undefined;
}

/** Longer tokens are refused, so that reading one is always quick. In characters. */
export const maxTokenLength = 64 * 1024;

/**
 * Reads a token, or undefined when it is no JWT in compact form: then it is somebody else's kind of token.
 * @param token latin1 bytes of a header
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

/** Google's tokens sometimes leave the scheme out, which go-oidc allows for Google alone. */
const googleWithoutScheme = 'accounts.google.com';
const google = 'https://accounts.google.com';

function readPart(part: string): JsonObject | undefined {
  // Go's RawURLEncoding: no padding, no other alphabet.
  if (!/^[A-Za-z0-9_-]+$/.test(part) || part.length % 4 === 1) return undefined;
  const source = decodeHeaderText(Buffer.from(part, 'base64url').toString('latin1'));
  const value = source === undefined ? undefined : readStrictJson(source);
  return isJsonObject(value) ? value : undefined;
}

/** Members that change what is signed or how; kube-apiserver's library refuses them too, or does not know them. */
const changing = ['crit', 'b64', 'zip', 'enc'];

function headerOf(header: JsonObject | undefined): TokenHeader | undefined {
  if (header === undefined || changing.some((name) => header.has(name))) return undefined;
  const algorithm = signingAlgorithms.find((known) => known === header.get('alg'));
  const keyId = header.get('kid');
  if (algorithm === undefined || (keyId !== undefined && typeof keyId !== 'string')) return undefined;
  // As in go-oidc an empty id is none.
  return { algorithm, keyId: keyId === '' ? undefined : keyId };
}
