// Turns any failure of a request to the hub into one GatewayError that says what failed and what to correct. Users and
// logs see the message. So the message consists of fixed texts, the address and the system's error code. It never
// contains a library's error text, which could quote a secret.
import { GatewayError } from '../model/errors.ts';

/** What messages say about an error code of the operating system, of Node or of OpenSSL. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens there (ECONNREFUSED)'],
  ['ENOTFOUND', 'its host name is not known (ENOTFOUND)'],
  ['EAI_AGAIN', 'its host name could not be looked up (EAI_AGAIN)'],
  ['ECONNRESET', 'the connection was cut (ECONNRESET)'],
  ['EPIPE', 'the connection was cut (EPIPE)'],
  ['ERR_STREAM_PREMATURE_CLOSE', 'the connection was cut in the middle of an answer'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for other names; correct the server or set tls-server-name'],
]);
/** Error codes of OpenSSL and Node which say that the certificate of the hub could not be verified. */
const untrusted = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT)/;

/** A GatewayError HUB_UNAVAILABLE for the hub at `url`. `reason` is shown to users. */
export function hubUnavailable(url: string, reason: string, cause?: unknown): GatewayError {
  return new GatewayError('HUB_UNAVAILABLE', `a request to the hub ${url} failed: ${reason}`, { cause });
}

/**
 * Turns any error of a request to the hub into a GatewayError HUB_UNAVAILABLE. A HUB_UNAVAILABLE is returned as it is;
 * any other GatewayError means that there was no credential for the request.
 */
export function hubFault(url: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) {
    if (error.code === 'HUB_UNAVAILABLE') return error;
    return hubUnavailable(url, `there is no credential for it: ${error.message}`, error);
  }
  const code = codeOf(error);
  const known = reasons.get(code);
  if (known !== undefined) return hubUnavailable(url, known, error);
  if (untrusted.test(code)) {
    const advice =
      'its certificate is not signed by an authority that the gateway trusts; correct certificate-authority in the kubeconfig of the hub';
    return hubUnavailable(url, `${advice} (${code})`, error);
  }
  return hubUnavailable(url, code === '' ? 'see the log of the gateway' : `the system reported ${code}`, error);
}

/**
 * Whether the error means that the peer closed the connection, as servers do with pooled connections that idle too
 * long.
 */
export function isCut(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : '';
}
