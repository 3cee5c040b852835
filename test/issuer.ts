// An identity provider for tests, as a real HTTPS server: discovery, JWKS, and tokens signed with any header and
// claims, good or bad. A library would refuse to make the tokens an attacker makes, so they are put together here by
// hand.
import { createHash, createHmac, createSign, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestAuthority } from './pretend/certificates.ts';
import { newServer, sendJson } from './pretend/server.ts';

/** A key pair of the provider. */
export interface IssuerKey {
  readonly kid: string | undefined;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A provider that runs. */
export interface TestIssuer {
  readonly url: string;
  readonly port: number;
  /** Paths asked so far. */
  readonly asked: string[];
  /** What the JWKS holds; may be replaced at any time. */
  jwks: unknown;
  /** Fields over those of the discovery document. */
  discovery: Readonly<Record<string, unknown>>;
  /** In place of the usual answers, when it returns true. */
  answer: (request: IncomingMessage, response: ServerResponse) => boolean;
  close(): Promise<void>;
}

export function makeKey(alg: string, kid: string | undefined = `key-${alg}`): IssuerKey {
  const curves: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
  const namedCurve = curves[alg];
  const pair =
    namedCurve === undefined
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve });
  return { kid, alg, ...pair };
}

/** The public half as a JWK. */
export function jwkOf({ kid, alg, publicKey }: IssuerKey, changes: Readonly<Record<string, unknown>> = {}): object {
  return { ...publicKey.export({ format: 'jwk' }), ...(kid === undefined ? {} : { kid }), alg, use: 'sig', ...changes };
}

/** Starts one on a port of its own (0: any). */
export async function startIssuer(
  authority: TestAuthority,
  keys: readonly IssuerKey[],
  { port = 0, path = '' }: { readonly port?: number; readonly path?: string } = {},
): Promise<TestIssuer> {
  const asked: string[] = [];
  const server = await newServer(
    (request, response) => {
      asked.push(request.url ?? '');
      if (issuer.answer(request, response)) return;
      if (request.url === `${path}/.well-known/openid-configuration`)
        sendJson(response, 200, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...issuer.discovery });
      else if (request.url === `${path}/jwks`) sendJson(response, 200, issuer.jwks);
      else response.writeHead(404).end();
    },
    await authority.issue(['ip:127.0.0.1', 'localhost', 'issuer.test']),
    port,
  );
  const issuer: TestIssuer = {
    url: server.url + path,
    port: server.port,
    asked,
    jwks: { keys: keys.map((key) => jwkOf(key)) },
    discovery: {},
    answer: () => false,
    close: server.close,
  };
  return issuer;
}

export function base64url(data: string | Buffer): string {
  return Buffer.from(data).toString('base64url');
}

export type Json = Readonly<Record<string, unknown>>;

/** Signs raw header and payload texts. */
export function signRaw(header: string, payload: string, key: IssuerKey, alg = key.alg): string {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${base64url(signatureOf(signed, key.privateKey, alg))}`;
}

/** A token; `header` is put over the usual one. */
export function signToken(claims: Json, key: IssuerKey, header: Json = {}): string {
  const { kid, alg } = key;
  const full = { alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }), ...header };
  return signRaw(JSON.stringify(full), JSON.stringify(claims), key);
}

/** A token whose HMAC secret is the text that everybody knows: the public key. */
export function signWithPublicKey(claims: Json, key: IssuerKey): string {
  const pem = key.publicKey.export({ format: 'pem', type: 'spki' });
  const signed = `${base64url(JSON.stringify({ alg: 'HS256', kid: key.kid }))}.${base64url(JSON.stringify(claims))}`;
  return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`;
}

function signatureOf(text: string, key: KeyObject, alg: string): Buffer {
  const digest = `sha${alg.slice(2)}`;
  if (alg.startsWith('ES')) return sign(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  if (alg.startsWith('PS')) {
    const saltLength = createHash(digest).digest().length;
    return sign(digest, Buffer.from(text), { key, padding: 6, saltLength });
  }
  return createSign(digest).update(text).sign(key);
}
