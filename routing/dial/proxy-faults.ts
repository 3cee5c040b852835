// Names what went wrong between us and a cluster's proxy, up to the open tunnel. A proxy's own words are shown to
// callers, so nothing we sent to it (passwords, header values) may come back in them.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ProxyAddress } from '../../cache/model/records.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import { addressRefusal, certificateRefused, errorCode, fail } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { addressRefused } from './sockets.ts';

/** Why the proxy did not give us a connection. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';
}

/** The proxy for people, without its credential. */
export function proxyLabel(proxy: ProxyAddress): string {
  if (proxy.scheme === 'unix') return `proxy unix:${proxy.socketPath ?? ''}`;
  return `proxy ${proxy.scheme}://${formatHostPort(proxy)}`;
}

/** The error for any fault between us and the proxy, up to the open tunnel. */
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

/** Longest part of a proxy's own words that is shown. */
export const maxReasonLength = 200;

/**
 * What a proxy says beside a refusal, in one line of printable ASCII; '' when it says nothing, or repeats a secret.
 * konnectivity says here whether no agent is connected or the agent could not reach the member.
 */
export function refusalReason(body: Buffer, contentType: string, secrets: readonly string[]): string {
  if (!/^text\/plain\b/i.test(contentType)) return '';
  const text = body.toString('latin1');
  if (secrets.some((secret) => secret !== '' && text.includes(secret))) return '';
  const line = text.replaceAll(/[^\x20-\x7e]+/g, ' ').trim();
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line;
}
