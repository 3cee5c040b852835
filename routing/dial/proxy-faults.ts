// Error messages for failures between the gateway and a cluster's proxy. They quote the proxy's answer, and a proxy may
// repeat in it what the gateway sent (passwords, header values). Such an answer must not be quoted.
import { GatewayError } from '../../model/errors.ts';
import type { ProxyAddress } from '../../model/records.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import { addressRefusal, certificateRefused, errorCode, fail } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { addressRefused } from '../call/sockets.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** Thrown when a proxy refused to open a tunnel, or its settings cannot be used; the message says why. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';
}

/** The proxy's address for messages, without user name and password. */
export function proxyLabel(proxy: ProxyAddress): string {
  if (proxy.scheme === 'unix') return `proxy unix:${proxy.socketPath ?? ''}`;
  return `proxy ${proxy.scheme}://${formatHostPort(proxy)}`;
}

/** Makes the error for any failure between the gateway and the proxy before the tunnel is open. */
export function proxyFault(error: unknown, proxy: ProxyAddress, member: MemberLabel): GatewayError {
  if (error instanceof GatewayError) return error;
  const label = proxyLabel(proxy);
  if (error instanceof ProxyRefusal || error instanceof ResponseFault) {
    return fail('MEMBER_PROXY', `${label} gave no connection to ${member.address}: ${error.message}`, member, error);
  }
  const code = errorCode(error);
  if (code === addressRefused) return addressRefusal(label, member, error);
  if (certificateRefused.test(code)) {
    return fail('MEMBER_PROXY', `${label} refused the gateway's client certificate (${code})`, member, error);
  }
  const detail = code === '' ? 'connection lost' : code;
  return fail('MEMBER_PROXY', `${label} of the cluster cannot be used (${detail})`, member, error);
}

/** Maximum number of characters of a proxy's answer that an error quotes; the rest is replaced by `…`. */
export const maxReasonLength = 200;

/**
 * Returns the text that a proxy sends with a refusal, as one line of printable ASCII; '' when there is none or when it
 * contains a secret. Konnectivity, for example, says in this text whether no agent is connected or the agent could not
 * reach the member.
 */
export function refusalReason(body: Buffer, contentType: string, secrets: readonly string[]): string {
  if (!/^text\/plain\b/i.test(contentType)) return '';
  const text = body.toString('latin1');
  if (secrets.some((secret) => secret !== '' && text.includes(secret))) return '';
  const line = text.replaceAll(/[^\x20-\x7e]+/g, ' ').trim();
  return shortened(line, maxReasonLength);
}
