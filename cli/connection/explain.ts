// Turns errors on the way to the gateway into a sentence and advice. Node has half a dozen error codes for one mistake,
// the wrong CA, depending on where the verification fails.
import { readStatus } from '../../kube/status.ts';
import { textAt } from '../../lib/objects/json-object.ts';
import { Failure } from '../terminal/failure.ts';
import type { Connection } from './gateway-connection.ts';

const untrustedCodes = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  // The error when the data directory of the gateway was created again: the new CA has the same subject as the old one
  // but another key.
  'CERT_SIGNATURE_FAILURE',
  'ERR_SSL_CERTIFICATE_VERIFY_FAILED',
]);

const caStep =
  'Pass the certificate of the CA that signed it: --certificate-authority DATA-DIR/ca.crt (`portcullis serve` makes one there).';

/**
 * Turns an error that occurred before the gateway answered into a {@link Failure}.
 * @param timeoutMs the timeout of the request, for the message
 */
export function explainConnection(error: unknown, connection: Connection, timeoutMs: number): Failure {
  const { root } = connection;
  const code = codeOf(error);
  const fail = (message: string, nextStep: string): Failure => new Failure(message, nextStep, { cause: error });
  if (code === 'ECONNREFUSED') {
    return fail(
      `nothing listens at ${root}: connection refused`,
      `Is the gateway running? Start it with: portcullis serve --listen ${new URL(root).host} --kubeconfig FILE`,
    );
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return fail(`the host name of ${root} cannot be resolved`, 'Check the spelling of --server, or use an IP address.');
  }
  if (code === 'ABORT_ERR' || code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') {
    const waited = code === 'ABORT_ERR' ? ` within ${timeoutMs / 1000} s` : '';
    return fail(`${root} did not answer${waited}`, 'Check the address, and firewalls or a VPN on the way.');
  }
  return explainTls(error, code, fail, root);
}

/** Explains errors of TLS. All other errors before the gateway answered get a general message. */
function explainTls(
  error: unknown,
  code: string | undefined,
  fail: (message: string, nextStep: string) => Failure,
  root: string,
): Failure {
  if (code !== undefined && untrustedCodes.has(code)) {
    return fail(`the certificate of ${root} is not signed by a CA you trust (${code})`, caStep);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return fail(
      `the certificate of ${root} is for another name: ${messageOf(error)}`,
      'Use the host name that `portcullis serve --listen` was given, or give it a certificate for this one (--tls-cert-file).',
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return fail(
      `the certificate of ${root} is not valid at this time (${code})`,
      "Check this machine's clock, then renew the gateway's certificate (--tls-cert-file) or restart it.",
    );
  }
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return fail(
      `${root} does not speak TLS`,
      "Use the gateway's --listen address; its --ops-listen address speaks plain HTTP and serves no clusters.",
    );
  }
  if (code?.startsWith('ERR_SSL_') === true && /ALERT/.test(code)) {
    return fail(
      `${root} refused the TLS handshake (${code})`,
      'If you use --client-certificate, check that it is signed by the CA the gateway was given with --client-ca-file.',
    );
  }
  return fail(`the request to ${root} failed: ${messageOf(error)}`, 'Check that the gateway runs and is reachable.');
}

/**
 * Turns an answer with a status other than 200 into a {@link Failure}. If the body is a `metav1.Status`, the Failure
 * includes its message.
 */
export function explainStatus(status: number, body: Buffer, connection: Connection): Failure {
  const { root } = connection;
  const said = statusMessage(body);
  const reason = said === undefined ? '' : `: ${said}`;
  if (status === 401) {
    const credential = connection.token === undefined ? 'client certificate' : 'token';
    const known = connection.token === undefined ? '--client-ca-file' : '--token-auth-file';
    return new Failure(
      `${root} does not accept this ${credential} (401)${reason}`,
      `Check that it is complete, not expired, and known to the gateway (${known}).`,
    );
  }
  if (status === 403) {
    return new Failure(
      `${root} does not allow this (403)${reason}`,
      'Ask its operator for a rule that lets you list clusters.gateway.portcullis.io (--authorization-rules).',
    );
  }
  if (status === 404) {
    return new Failure(
      `${root} does not list clusters (404)${reason}`,
      "Check --server: it must be the gateway's own address, not that of a cluster behind it.",
    );
  }
  if (status >= 300 && status < 400) {
    return new Failure(
      `${root} redirects elsewhere (${status}), which is not followed because the credential would go along`,
      "Check --server: it must be the gateway's own address.",
    );
  }
  if (status === 429 || status === 503) {
    return new Failure(`${root} cannot answer now (${status})${reason}`, 'Try again in a few seconds.');
  }
  return new Failure(
    `${root} failed (${status})${reason}`,
    "The gateway's log has the cause, under the request's Audit-Id.",
  );
}

/** The message of a `metav1.Status`; undefined when the body has none. */
export function statusMessage(body: Buffer): string | undefined {
  return readStatus(body).message || undefined;
}

/**
 * Tells the two causes of a 404 apart: true when the object does not exist, false when the server does not serve the
 * type. In the second case the Status has no object name in its details.
 */
export function isAboutObject(body: Buffer): boolean {
  return textAt(readStatus(body).details, 'name') !== '';
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
