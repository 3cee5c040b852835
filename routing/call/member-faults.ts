// Turns errors of the operating system, OpenSSL and HTTP that concern a member into a GatewayError that says what
// failed and what can be done. With TLS 1.3 a member refuses a client certificate after the handshake, so read errors
// are handled here too.
import { GatewayError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { addressRefused } from './sockets.ts';

/** Name, address and TLS settings of the member that an error is about. */
export interface MemberLabel {
  readonly clusterName: string;
  /** `https://host:port`, for messages. */
  readonly address: string;
  /** The name that the member's certificate must have. */
  readonly verifiedName: string;
  /** Whether the cluster has its own certificate authority; otherwise the system's roots are used. */
  readonly ownAuthority: boolean;
}

/** What the gateway was doing when the error occurred: opening the connection, the TLS handshake, or the request. */
export type FaultPhase = 'connect' | 'tls' | 'request';

/** Node's names of OpenSSL's verification errors which mean that no trusted authority has signed the certificate. */
const untrusted: ReadonlySet<string> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** TLS alerts with which a server refuses a client certificate, or its absence. */
export const certificateRefused =
  /_ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_[A-Z]+|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/;

/** Makes the error for a failed connection to a member. A GatewayError is returned unchanged. */
export function memberFault(error: unknown, member: MemberLabel, phase: FaultPhase): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = errorCode(error);
  if (code === addressRefused) return addressRefusal(member.address, member, error);
  const system = systemFault(code, member, phase);
  if (system !== undefined) return fail(system.code, system.message, member, error);
  if (certificateRefused.test(code)) {
    return fail(
      'MEMBER_CREDENTIAL',
      `${member.address} refused the gateway's client certificate (${code})`,
      member,
      error,
    );
  }
  if (phase === 'tls') return fail('MEMBER_TLS', tlsMessage(code, error, member), member, error);
  const doing = phase === 'connect' ? 'cannot connect to' : 'lost the connection to';
  return fail('MEMBER_UNAVAILABLE', `${doing} ${member.address}${code === '' ? '' : ` (${code})`}`, member, error);
}

function systemFault(
  code: string,
  { address }: MemberLabel,
  phase: FaultPhase,
): { readonly code: ErrorCode; readonly message: string } | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return { code: 'MEMBER_REFUSED', message: `connection refused by ${address}` };
    case 'ETIMEDOUT':
      return { code: 'MEMBER_TIMEOUT', message: `${address} does not answer (connection timed out)` };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NODATA':
      return { code: 'MEMBER_UNAVAILABLE', message: `the host name of ${address} cannot be resolved (${code})` };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { code: 'MEMBER_UNAVAILABLE', message: `no route to ${address} (${code})` };
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ERR_STREAM_PREMATURE_CLOSE': {
      const when = phase === 'tls' ? ' during the TLS handshake' : '';
      return { code: 'MEMBER_UNAVAILABLE', message: `connection reset by ${address}${when}` };
    }
    case 'EMFILE':
    case 'ENFILE':
      return { code: 'MEMBER_OVERLOADED', message: `the gateway has no free file descriptor for ${address} (${code})` };
    default:
      return undefined;
  }
}

function tlsMessage(code: string, error: unknown, member: MemberLabel): string {
  const { address } = member;
  if (untrusted.has(code)) {
    const authority = member.ownAuthority
      ? "the cluster's certificate authority (certificate-authority-data)"
      : 'any system root; set certificate-authority for the cluster';
    return `the certificate of ${address} is not signed by ${authority} (${code})`;
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${address} has expired`;
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${address} is not valid yet`;
    case 'CERT_REVOKED':
      return `the certificate of ${address} is revoked`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${address} is not valid for "${member.verifiedName}"; set tls-server-name`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `${address} does not speak TLS`;
    default:
      return `TLS with ${address} failed (${code === '' ? messageOf(error) : readable(code)})`;
  }
}

/**
 * Makes the error for a cluster whose address the gateway must not connect to. The message does not contain the IP
 * address to which a name resolved, because that would tell outsiders about the internal network.
 */
export function addressRefusal(what: string, member: MemberLabel, cause: unknown): GatewayError {
  const message = `cluster "${member.clusterName}" cannot be used (AddressRefused): ${what} is or resolves to an address that objects of a hub may not name; the operator can allow it with --allow-member-addresses`;
  return fail('CLUSTER_UNUSABLE', message, member, cause);
}

/** Makes the error for a response of a member that violates HTTP. */
export function badResponse(detail: string, member: MemberLabel): GatewayError {
  return fail('MEMBER_BAD_RESPONSE', `${member.address} sent an invalid response: ${detail}`, member, undefined);
}

/**
 * Makes the error for calls on connections that the gateway has closed, because the cluster was removed or the gateway
 * stops.
 */
export function closedTransport(member: MemberLabel): GatewayError {
  return fail('MEMBER_UNAVAILABLE', `the gateway closed its connections to ${member.address}`, member, undefined);
}

/** Makes the error for a member that answered 401, which means that it refused the gateway's own credential. */
export function credentialRefused(cluster: string): GatewayError {
  const message = `cluster "${cluster}" refused the gateway's own credential (401): it may have expired; renew it where the gateway reads it`;
  return new GatewayError('MEMBER_CREDENTIAL', message, { cluster });
}

/** Makes the error for a redirect of a member, which is never followed (rule "no redirects" in docs/rules.md). */
export function redirected(cluster: string, status: number): GatewayError {
  const message = `cluster "${cluster}" answered with a redirect (${status}), which is not followed`;
  return new GatewayError('MEMBER_REDIRECT', message, { cluster });
}

/** Makes the error for a member that received the request and did not answer in time. */
export function noAnswer(cluster: string, timeoutMs: number): GatewayError {
  const message = `cluster "${cluster}" sent no answer within ${timeoutMs / 1000} s`;
  return new GatewayError('MEMBER_TIMEOUT', message, { cluster });
}

/** Makes an error with this code about this member. */
export function fail(code: ErrorCode, message: string, member: MemberLabel, cause: unknown): GatewayError {
  return new GatewayError(code, message, { cluster: member.clusterName, ...(cause === undefined ? {} : { cause }) });
}

/** The `code` of a Node error, such as ECONNREFUSED; '' when it has none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** Makes OpenSSL codes readable: `ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE` becomes `alert handshake failure`. */
function readable(code: string): string {
  const text = code.replace(/^ERR_SSL_(?:SSL\/TLS_|TLSV1_)?/, '');
  return text === code ? code : text.toLowerCase().replaceAll('_', ' ');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown fault';
}
