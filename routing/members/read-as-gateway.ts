// How the gateway reads a member as itself: its own credential, nobody impersonated. It can only GET, and takes no body
// and no header of a caller. What it reads goes into the index, where the rights of each reader decide every row. Only
// the index's reflectors may import it (test/house/imports.test.ts).
import { callMember } from './member-call.ts';
import type { MemberAnswer, MemberCall } from './member-call.ts';
import type { Target } from './target.ts';

/** A list, a watch or a document of discovery. */
export type GatewayRead = Pick<
  MemberCall,
  'path' | 'headers' | 'timeoutMs' | 'wholeTimeoutMs' | 'longRunning' | 'signal'
>;

/** Sends one GET as the gateway's own credential. Rejects as {@link callMember} does. */
export function readAsGateway(
  target: Target,
  { path, headers, timeoutMs, wholeTimeoutMs, longRunning, signal }: GatewayRead,
): Promise<MemberAnswer> {
  const read = { path, headers, timeoutMs, wholeTimeoutMs, longRunning, signal };
  return callMember(target, { ...read, identity: 'self', method: 'GET' });
}
