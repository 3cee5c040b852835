// Reads the ExecCredential that a plugin printed. JSON.parse quotes its input in errors, and here the input is a token,
// so no error of this file quotes anything.
import { z } from 'zod';
import { GatewayError } from '../model/errors.ts';
import type { Credential } from '../model/records.ts';
import { bearerAuthorization } from './fixed.ts';
import { readKeyPair } from './pem.ts';

const schema = z.object({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z.object({
    expirationTimestamp: z.string().nullish(),
    token: z.string().nullish(),
    clientCertificateData: z.string().nullish(),
    clientKeyData: z.string().nullish(),
  }),
});

/**
 * The credential in a plugin's stdout, checked as client-go does (`plugin/pkg/client/auth/exec`).
 * @param apiVersion the version the kubeconfig asked for; another one in the answer is an error
 * @throws GatewayError MEMBER_CREDENTIAL or CLUSTER_UNUSABLE with the reason, without any value
 */
export function readExecCredential(stdout: string, apiVersion: string): Credential {
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch {
    throw fault(stdout.trim() === '' ? 'printed nothing' : 'did not print JSON');
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw fault(
      `did not print an ExecCredential with a status (${parsed.error.issues[0]?.path.join('.') || 'not an object'})`,
    );
  }
  if (parsed.data.apiVersion !== apiVersion)
    throw fault(`answered in another version than the configured ${apiVersion}`);
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.data.status;
  if (!token && !cert && !key) throw fault('returned neither a token nor a certificate');
  if (!cert !== !key) throw fault('returned only one of certificate and key');
  const pair = cert && key ? readKeyPair('the certificate it returned', cert, key) : undefined;
  return Object.freeze({
    authorization: token ? bearerAuthorization('the token it returned', token) : undefined,
    clientCertificate: pair && Object.freeze({ cert: pair.cert, key: pair.key }),
    expiresAtMs: expirationTimestamp ? timestamp(expirationTimestamp) : pair?.expiresAtMs,
  });
}

function timestamp(text: string): number {
  const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
  const unixMs = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(unixMs)) throw fault('returned an expirationTimestamp that is not RFC 3339');
  return unixMs;
}

function fault(message: string): GatewayError {
  return new GatewayError('MEMBER_CREDENTIAL', message);
}
