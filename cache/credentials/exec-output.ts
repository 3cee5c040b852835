// Parses the ExecCredential that a credential plugin printed. Easy to get wrong: JSON.parse quotes its input in error
// messages, and the input here contains a token. So no error of this file quotes any part of its input.
import { z } from 'zod';
import { GatewayError } from '../../model/errors.ts';
import type { Credential } from '../../model/records.ts';
import { bearerAuthorization } from '../../model/fixed-credential.ts';
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
 * Reads the credential from a plugin's stdout, with the checks of client-go (`plugin/pkg/client/auth/exec`).
 * @param apiVersion the version in the kubeconfig; the plugin must answer in the same version
 * @throws GatewayError MEMBER_CREDENTIAL or CLUSTER_UNUSABLE with the reason, without any part of the output
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

/**
 * Unix milliseconds of an RFC 3339 timestamp. @throws GatewayError MEMBER_CREDENTIAL when the text is not such a
 * timestamp
 */
function timestamp(text: string): number {
  const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
  const unixMs = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(unixMs)) throw fault('returned an expirationTimestamp that is not RFC 3339');
  return unixMs;
}

function fault(message: string): GatewayError {
  return new GatewayError('MEMBER_CREDENTIAL', message);
}
