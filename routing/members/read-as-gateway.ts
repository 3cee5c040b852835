// Reads from a member with the gateway's own credential, without impersonation. Only GET requests are possible, without
// a body and without headers of a caller. The data goes into the index, which shows each row only to users whose own
// rights allow it. Only sync/ask-member.ts, which reads for the index, may import this file
// (test/house/imports.test.ts).
import { callMember } from './member-call.ts';
import type { MemberAnswer, MemberCall } from './member-call.ts';
import type { Target } from './target.ts';

/** The parts of a request for a list, a watch or a discovery document. */
export type GatewayRead = Pick<
  MemberCall,
  'path' | 'headers' | 'timeoutMs' | 'wholeTimeoutMs' | 'longRunning' | 'signal'
>;

/**
 * Sends one GET with the gateway's own credential.
 * @throws as {@link callMember}
 */
export function readAsGateway(
  target: Target,
  { path, headers, timeoutMs, wholeTimeoutMs, longRunning, signal }: GatewayRead,
): Promise<MemberAnswer> {
  const read = { path, headers, timeoutMs, wholeTimeoutMs, longRunning, signal };
  return callMember(target, { ...read, identity: 'self', method: 'GET' });
}
